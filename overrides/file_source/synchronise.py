"""Overrides from files: the folder is the truth, the database keeps the last good set.

A look at the folder (`synchronise`) happens at start and every few seconds in a Celery task. A set of files
takes effect whole or not at all, as one revision: so every process answers the same, a bad file changes
nothing, and the last good set survives a restart. docs/adr/0013 has the reasons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.errors import ControlplaneError, FieldError, InvalidRequest, UnknownVersion
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope
from overrides import event_types
from overrides.documents.catalogue_documents import KINDS, apply_document
from overrides.documents.export import read_bundle, read_statements
from overrides.editing.commit import Draft, Limits, begin, commit
from overrides.editing.removal_guard import Removals, wants_confirmation
from overrides.file_source.folder import FileError, Folder, digest_of, file_errors, read_folder, read_texts
from overrides.loading.current import load_standing
from overrides.models import Override, SourceState
from overrides.resolution.addresses import Address, Statement
from overrides.write_mode import FILES, reads_files

DATABASE, CURRENT, FAILING, AWAITING = STATES = ("database", "current", "failing", "awaiting_confirmation")
_TOLD = 200
# Any number that nothing else locks: one look at the folder at a time, over all processes.
_LOCK = 7_402_113
log = structlog.get_logger(__name__)


class _Awaiting(Exception):
    """The set would remove much: roll back, and wait."""

    def __init__(self, removals: Removals) -> None:
        super().__init__()
        self.removals = removals


def synchronise() -> str:
    """Look at the folder, and bring the database in line with it if the files are good. Returns the state."""
    if not reads_files():
        SourceState.objects.exclude(state=DATABASE).update(state=DATABASE, report={})
        return DATABASE
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_try_advisory_xact_lock(%s)", [_LOCK])
        state = SourceState.objects.get(id=1)
        return _look(state) if cursor.fetchone()[0] else state.state


def source_state() -> dict[str, Any]:
    """What is known of the source, as the API shows it."""
    row = SourceState.objects.get(id=1)
    report = row.report if reads_files() else {}
    return {
        "source": "file" if reads_files() else "db",
        "state": row.state if reads_files() else DATABASE,
        "digest": row.digest,
        "revision": row.revision,
        "checked_at": row.checked_at,
        "loaded_at": row.loaded_at,
        "files": report.get("files", []),
        "errors": report.get("errors", []),
        "pending": report.get("pending"),
    }


def confirm(digest: str, *, actor: Actor) -> None:
    """Let exactly this set of files take effect, although it removes much. Raises UnknownVersion."""
    row = SourceState.objects.select_for_update().get(id=1)
    pending = row.report.get("pending") or {}
    if not reads_files() or row.state != AWAITING or pending.get("digest") != digest:
        raise UnknownVersion("No set of files with this digest waits for a confirmation.")
    row.confirmed_digest = digest
    row.save(update_fields=["confirmed_digest"])
    audit.record(
        event_types.SOURCE_CONFIRMED,
        "overrides_source",
        digest,
        actor=actor,
        before=None,
        after={"digest": digest, "removals": pending["removals"]},
        data={"digest": digest, "removals": pending["removals"]},
    )


@transaction.atomic
def release() -> int:
    """Keep what the files said as overrides of the database; return how many. Raises ValueError."""
    row = SourceState.objects.select_for_update().get(id=1)
    if row.state in (FAILING, AWAITING):
        raise ValueError(
            "The folder holds a set that is not in force. Put it right or confirm it first, so that "
            "nothing that it says is lost: GET /api/v1/overrides/source tells more."
        )
    count = Override.objects.exclude(declared_in="").update(declared_in="")
    SourceState.objects.filter(id=1).update(state=DATABASE, digest="", report={})
    return count


def _look(row: SourceState) -> str:
    try:
        texts = read_texts(Path(settings.OVERRIDES_PATH))
    except OSError as error:
        mistake = FileError("", 0, 0, "", "unreadable", f"OVERRIDES_PATH cannot be read: {error}.")
        return _refuse(row, "", [], [mistake])
    if digest_of(texts) == row.digest and row.state == CURRENT:
        SourceState.objects.filter(id=1).update(checked_at=Now())
        return CURRENT
    folder = read_folder(texts)
    if folder.errors:
        return _refuse(row, folder.digest, folder.files, folder.errors)
    try:
        with transaction.atomic():
            revision = _take_over(folder, confirmed=row.confirmed_digest == folder.digest)
    except _Awaiting as awaiting:
        return _wait(row, folder, awaiting.removals)
    except ControlplaneError as error:
        found = error.errors or (FieldError("", error.code, error.detail),)
        return _refuse(row, folder.digest, folder.files, file_errors(folder, found))
    return _accept(row, folder, revision)


def _take_over(folder: Folder, *, confirmed: bool) -> int:
    """Make the database say what the files say; return the revision, or 0 if nothing changed."""
    earlier = begin(FILES)
    about, overrides = read_bundle(folder.documents)
    for kind in KINDS:
        for one in about:
            if one.value["kind"] == kind:
                apply_document(one, FILES)
    statements = read_statements(overrides)
    stated = _once(statements)
    catalogue = begin(FILES)
    stored = {Address(row.resource_type, row.scope): row.changed_by for row in Override.objects.all()}
    removals = Removals(
        tuple(sorted((one for one in stored if one not in stated), key=str)),
        len(stored),
        any(by != FILES.name for one, by in stored.items() if one not in stated),
    )
    if wants_confirmation(removals) and not confirmed:
        raise _Awaiting(removals)
    drafts = []
    for address, now in load_standing([*stated, *removals.addresses]).items():
        said = stated.get(address)
        wanted = said.attributes if said else None
        drafts.append(Draft(now, wanted, {}, said.declared_in if said else "", said.pointer if said else ""))
    return commit(drafts, catalogue, actor=FILES, limits=Limits(asks=False), earlier=earlier).revision


def _once(statements: Sequence[Statement]) -> dict[Address, Statement]:
    """Raises InvalidRequest naming both places where two files claim one scope and type."""
    stated: dict[Address, Statement] = {}
    found = []
    for one in statements:
        first = stated.setdefault(one.address, one)
        if first is not one:
            message = f"{one.address} is claimed by two places: {first.declared_in} and {one.declared_in}."
            found.append(FieldError(one.pointer, "claimed_twice", message))
    if found:
        raise InvalidRequest(found[0].message, errors=found)
    return stated


def _accept(row: SourceState, folder: Folder, revision: int) -> str:
    row.state, row.digest, row.confirmed_digest = CURRENT, folder.digest, ""
    row.revision = revision or row.revision
    row.report = {"files": list(folder.files)}
    row.checked_at = row.loaded_at = Now()
    row.save()
    _tell(event_types.SOURCE_LOADED, folder.digest, {"digest": folder.digest, "revision": row.revision})
    log.info("overrides_source.loaded", files=len(folder.files), revision=row.revision)
    return CURRENT


def _refuse(row: SourceState, digest: str, files: Sequence[str], errors: Sequence[FileError]) -> str:
    told = [asdict(one) for one in errors[:_TOLD]]
    return _keep_out(row, FAILING, {"digest": digest, "files": list(files), "errors": told})


def _wait(row: SourceState, folder: Folder, removals: Removals) -> str:
    pending = {
        "digest": folder.digest,
        "removals": len(removals.addresses),
        "stored": removals.stored,
        "addresses": [str(one) for one in removals.addresses[:_TOLD]],
    }
    report = {"digest": folder.digest, "files": list(folder.files), "pending": pending}
    return _keep_out(row, AWAITING, report)


def _keep_out(row: SourceState, state: str, report: dict[str, Any]) -> str:
    """Note why the set does not take effect, and tell it once."""
    is_news = (row.state, row.report) != (state, report)
    row.state, row.report, row.checked_at = state, report, Now()
    row.save(update_fields=["state", "report", "checked_at"])
    if is_news:
        _tell(event_types.SOURCE_REFUSED, report["digest"], {"digest": report["digest"], "state": state})
        log.warning("overrides_source.refused", state=state, errors=report.get("errors", [])[:5])
    return state


def _tell(kind: Any, digest: str, data: dict[str, Any]) -> None:
    audit.record(
        kind,
        "overrides_source",
        digest or "none",
        actor=FILES,
        before=None,
        after=data,
        data=data,
        scope=Scope(),
    )
