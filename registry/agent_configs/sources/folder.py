"""Documents from a mounted folder, `<team>/<file>.yaml`, read every few seconds.

`follow` publishes the listing.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import transaction

from controlplane.access.teams.teams import check_team_name
from controlplane.database.locks import AdvisoryLock, try_lock
from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor, system
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.event_types import FOLDER_CONFIRMED, FOLDER_LOADED, FOLDER_REFUSED
from registry.agent_configs.publishing.publish import FOLDER
from registry.agent_configs.source_models import AgentConfigFolder
from registry.agent_configs.sources.follow import (
    CURRENT,
    OFF,
    Source,
    SourceListing,
    confirm_removal,
    follow,
    record_failure,
)

SOURCE = Source(
    FOLDER,
    AgentConfigFolder,
    "agent_config_folder",
    system("agent_config_files"),
    FOLDER_LOADED,
    FOLDER_REFUSED,
    FOLDER_CONFIRMED,
)
SUFFIXES = (".yaml", ".yml", ".json")
_MAX_FILES = 10_000
# A file that was modified a moment ago may be incomplete.
_SETTLED_SECONDS = 1.0


def synchronise(*, settled_seconds: float = _SETTLED_SECONDS) -> str:
    """Read the folder, publish changes and return the state."""
    if not settings.AGENT_CONFIGS_PATH:
        return OFF
    with transaction.atomic():
        if not try_lock(AdvisoryLock.AGENT_CONFIG_FILES):
            return CURRENT
        try:
            listing = read_folder(Path(settings.AGENT_CONFIGS_PATH), settled_seconds=settled_seconds)
        except OSError as error:
            return record_failure(SOURCE, f"AGENT_CONFIGS_PATH cannot be read: {error}.")
        return follow(SOURCE, listing)


def get_folder_row() -> AgentConfigFolder:
    return AgentConfigFolder.objects.get(id=1)


def confirm_folder_removal(digest: str, *, actor: Actor) -> None:
    """Confirm the removal of exactly these documents. Raises UnknownVersion if it is not pending."""
    confirm_removal(SOURCE, digest, actor=actor)


def read_folder(path: Path, *, settled_seconds: float = _SETTLED_SECONDS) -> SourceListing:
    """Read the folder. Raises OSError if it cannot be read."""
    if not path.is_dir():
        raise FileNotFoundError(f"{path.name!r} is not a folder or cannot be accessed")
    root, texts, unsettled, problems = path.resolve(), {}, set(), []
    for name in _list_files(path):
        try:
            document = _build_document_id(name)
            file = (path / name).resolve()
            # A link must not expose other files of this machine to a team's readers.
            if not file.is_relative_to(root):
                raise ValueError("the link points outside the folder")
            if time.time() - file.stat().st_mtime < settled_seconds:
                unsettled.add(document)
            else:
                texts[document] = _read_file(file)
        except (OSError, ValueError, ControlplaneError) as error:
            problems.append(f"{_to_printable(name)}: {_to_printable(error)}")
    return SourceListing(texts, frozenset(unsettled), tuple(problems))


def _list_files(path: Path) -> Iterator[Path]:
    """Yield names of files, except hidden ones: Kubernetes keeps versions of a mounted ConfigMap there."""
    paths = (file.relative_to(path) for file in path.rglob("*") if file.suffix in SUFFIXES)
    visible = (name for name in paths if not any(part.startswith(".") for part in name.parts))
    yield from sorted(visible)[:_MAX_FILES]


def _build_document_id(name: Path) -> DocumentId:
    team, *rest = name.parts
    if not rest:
        raise ValueError("a document must be in its team's folder: <team>/<file>.yaml")
    check_team_name(team, "/team")
    document = DocumentId(FOLDER, team, "/".join(rest))
    # Raises for a name that is not UTF-8, which the database cannot store.
    str(document).encode()
    return document


def _to_printable(text: object) -> str:
    return str(text).encode(errors="backslashreplace").decode()


def _read_file(file: Path) -> str:
    """Read one byte more than the limit, which is enough to reject the document."""
    with file.open("rb") as opened:
        raw = opened.read(settings.AGENT_CONFIGS_DOCUMENT_BYTES + 1)
    return raw.decode(errors="replace").replace("\x00", "\ufffd")
