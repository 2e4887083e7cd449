"""Documents from a mounted folder: `<team>/<file>.yaml`, read again every few seconds.

`following` says what is done with what was found.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import connection, transaction

from controlplane.errors import ControlplaneError
from controlplane.identity.actors import Actor, system
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.event_types import FOLDER_CONFIRMED, FOLDER_LOADED, FOLDER_REFUSED
from registry.agent_configs.publishing.publish import FOLDER
from registry.agent_configs.publishing.teams import check_team_name
from registry.agent_configs.source_models import AgentConfigFolder
from registry.agent_configs.sources.follow import CURRENT, OFF, Found, Source, confirm_removal, fail, follow

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
_MOST_FILES = 10_000
# A file that was touched a moment ago may be half written.
_SETTLED_SECONDS = 1.0
_LOCK = 7_402_115


def synchronise(*, settled_seconds: float = _SETTLED_SECONDS) -> str:
    """Look at the folder and publish what changed. Returns the state."""
    if not settings.AGENT_CONFIGS_PATH:
        return OFF
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        if not cursor.fetchone()[0]:
            return CURRENT
        try:
            found = read_folder(Path(settings.AGENT_CONFIGS_PATH), settled_seconds=settled_seconds)
        except OSError as error:
            return fail(SOURCE, f"AGENT_CONFIGS_PATH cannot be read: {error}.")
        return follow(SOURCE, found)


def folder_state() -> AgentConfigFolder:
    return AgentConfigFolder.objects.get(id=1)


def confirm(digest: str, *, actor: Actor) -> None:
    """Let exactly these documents go. Raises UnknownVersion if no such removal waits."""
    confirm_removal(SOURCE, digest, actor=actor)


def read_folder(path: Path, *, settled_seconds: float = _SETTLED_SECONDS) -> Found:
    """Raises OSError if the folder cannot be read."""
    if not path.is_dir():
        raise FileNotFoundError(f"{path.name!r} is no folder, or cannot be reached")
    root, texts, unsettled, problems = path.resolve(), {}, set(), []
    for name in _names(path):
        try:
            document = _document(name)
            file = (path / name).resolve()
            # A link must not show a team's readers what else lies on this machine.
            if not file.is_relative_to(root):
                raise ValueError("it is a link out of the folder")
            if time.time() - file.stat().st_mtime < settled_seconds:
                unsettled.add(document)
            else:
                texts[document] = _text(file)
        except (OSError, ValueError, ControlplaneError) as error:
            problems.append(f"{_printable(name)}: {_printable(error)}")
    return Found(texts, frozenset(unsettled), tuple(problems))


def _names(path: Path) -> Iterator[Path]:
    """Names with a leading dot are passed over: there Kubernetes keeps versions of a mounted ConfigMap."""
    found = (one.relative_to(path) for one in path.rglob("*") if one.suffix in SUFFIXES)
    kept = (one for one in found if not any(part.startswith(".") for part in one.parts))
    yield from sorted(kept)[:_MOST_FILES]


def _document(name: Path) -> DocumentId:
    team, *rest = name.parts
    if not rest:
        raise ValueError("a document lies in its team's folder: <team>/<file>.yaml")
    check_team_name(team, "/team")
    document = DocumentId(FOLDER, team, "/".join(rest))
    # A file may have a name that is no UTF-8, which no database stores.
    str(document).encode()
    return document


def _printable(said: object) -> str:
    return str(said).encode(errors="backslashreplace").decode()


def _text(file: Path) -> str:
    """One byte more than a document may have is enough to refuse it."""
    with file.open("rb") as opened:
        raw = opened.read(settings.AGENT_CONFIGS_DOCUMENT_BYTES + 1)
    return raw.decode(errors="replace").replace("\x00", "\ufffd")
