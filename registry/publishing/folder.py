"""Documents from a mounted folder: `<team>/<file>.yaml`, read again every few seconds.

Each file is a document of its own, so a bad one keeps its last good generation and touches no other. A folder
that cannot be read removes nothing; nor does one that lost more than half of its documents, until somebody
confirms it: a mount or a checkout that is half there looks like that.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.actors import Actor, system
from controlplane.errors import ControlplaneError, UnknownVersion
from registry import event_types
from registry.agent_configs.claims import DocumentId
from registry.publishing.locking import lock_publishing
from registry.publishing.publishing import FOLDER, Wanted, delete_document, put_document
from registry.publishing.recomputing import recompute_all
from registry.publishing.rows import AgentConfig, AgentConfigFolder
from registry.publishing.teams import check_team_name

OFF, CURRENT, FAILING, AWAITING = STATES = ("off", "current", "failing", "awaiting_confirmation")
FILES = system("agent_config_files")
SUFFIXES = (".yaml", ".yml", ".json")
_MOST_FILES = 10_000
# A file that was touched a moment ago may be half written.
_SETTLED_SECONDS = 1.0
_LOCK = 7_402_115
_TOLD = 200
log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Found:
    """What the folder holds. unsettled: files that may still be written; problems: what is no document."""

    texts: dict[DocumentId, str]
    unsettled: frozenset[DocumentId]
    problems: tuple[str, ...]

    @property
    def names(self) -> frozenset[DocumentId]:
        return frozenset(self.texts) | self.unsettled

    @property
    def digest(self) -> str:
        """Of the names: what is confirmed is which documents are gone."""
        return sha256("\n".join(sorted(map(str, self.names))).encode()).hexdigest()


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
            return _fail(f"AGENT_CONFIGS_PATH cannot be read: {error}.")
        return _follow(found)


def folder_state() -> AgentConfigFolder:
    return AgentConfigFolder.objects.get(id=1)


def confirm(digest: str, *, actor: Actor) -> None:
    """Let exactly these documents go. Raises UnknownVersion if no such removal waits."""
    with transaction.atomic():
        row = AgentConfigFolder.objects.select_for_update().get(id=1)
        if not row.pending or row.pending["digest"] != digest:
            raise UnknownVersion("No removal with this digest waits for a confirmation.")
        row.confirmed_digest = digest
        row.save(update_fields=["confirmed_digest"])
        said = {"digest": digest}
        audit.record(
            event_types.FOLDER_CONFIRMED,
            "agent_config_folder",
            digest,
            actor=actor,
            before=None,
            after={**said, "documents": row.pending["documents"]},
            data=said,
        )


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


def _follow(found: Found) -> str:
    lock_publishing()
    row = AgentConfigFolder.objects.select_for_update().get(id=1)
    known = {
        one.document_id: one.digest
        for one in AgentConfig.objects.filter(source=FOLDER, deleted_at=None).defer("text", "content")
    }
    gone = sorted(known.keys() - found.names)
    waits = _is_too_much(len(gone), len(known)) and row.confirmed_digest != found.digest
    problems = list(found.problems)
    for document, text in found.texts.items():
        if known.get(document) != sha256(text.encode()).hexdigest():
            problems += _publish(document, text)
    for document in () if waits else gone:
        delete_document(document, actor=FILES, one_of_many=True)
    # Once for all that changed: taken one by one, no gate would notice that most of it goes.
    recompute_all(FILES)
    pending = {"digest": found.digest, "documents": [str(one) for one in gone[:_TOLD]]} if waits else None
    return _note(row, found, problems[:_TOLD], pending)


def _publish(document: DocumentId, text: str) -> list[str]:
    """One file's fault is its own: whatever goes wrong with it, the others are read."""
    try:
        with transaction.atomic():
            put_document(Wanted(document, text), actor=FILES, refuse=False, one_of_many=True)
    except ControlplaneError as error:
        return [f"{document.namespace}/{document.name}: {error.detail}"]
    except Exception as error:
        log.error("agent_config_folder.unforeseen", document=str(document), exc_info=error)
        return [f"{document.namespace}/{document.name}: it could not be read. The log has the cause."]
    return []


def _is_too_much(gone: int, known: int) -> bool:
    share = settings.AGENT_CONFIGS_REMOVAL_PERCENT / 100
    return gone >= settings.AGENT_CONFIGS_REMOVAL_COUNT and gone > share * known


def _note(row: AgentConfigFolder, found: Found, problems: list[str], pending: dict[str, Any] | None) -> str:
    if pending and row.pending != pending:
        _tell(event_types.FOLDER_REFUSED, {"reason": f"{len(pending['documents'])} documents would go."})
    if not row.is_synced or row.loaded_at is None or row.digest != found.digest:
        _tell(event_types.FOLDER_LOADED, {"digest": found.digest})
    if problems and problems != row.problems:
        log.warning("agent_config_folder.problems", problems=problems[:5])
    row.is_synced, row.digest, row.problems, row.pending = True, found.digest, problems, pending
    if not pending:
        row.confirmed_digest = ""
    row.checked_at = row.loaded_at = Now()
    row.save()
    return AWAITING if pending else CURRENT


def _fail(reason: str) -> str:
    row = AgentConfigFolder.objects.select_for_update().get(id=1)
    if row.is_synced or row.problems != [reason]:
        _tell(event_types.FOLDER_REFUSED, {"reason": reason})
        log.warning("agent_config_folder.unreadable", reason=reason)
    row.is_synced, row.problems = False, [reason]
    row.save(update_fields=["is_synced", "problems"])
    return FAILING


def _tell(kind: Any, data: dict[str, Any]) -> None:
    audit.record(kind, "agent_config_folder", "folder", actor=FILES, before=None, after=data, data=data)
