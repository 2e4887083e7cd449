"""Overrides from files: the folder is authoritative, the database keeps the last valid set.

`synchronise` checks the folder at start and every few seconds in a Celery task. A set of files takes effect
as a whole or not at all, as one revision: so every process returns the same, an invalid file changes
nothing, and the last valid set survives a restart. For the reasons see docs/adr/0013.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.database.locks import AdvisoryLock, try_lock
from controlplane.errors import ControlplaneError, FieldError, InvalidRequest, UnknownVersion
from controlplane.identity.actors import Actor
from controlplane.scopes import Scope
from overrides import event_types
from overrides.documents.catalogue_documents import KINDS, apply_document
from overrides.documents.export import read_bundle, read_statements
from overrides.editing.commit import CommitOptions, begin, commit
from overrides.editing.draft import Draft
from overrides.editing.removal_guard import Removals, needs_confirmation
from overrides.file_source.folder import FileError, Folder, digest_of, file_errors, read_folder, read_texts
from overrides.file_source.git_index import is_committed
from overrides.file_source.head_commit import head_commit
from overrides.files_actor import FILES, files_at
from overrides.loading.current import load_current
from overrides.models import Override, SourceState
from overrides.resolution.addresses import Address, Statement
from overrides.write_mode import reads_files

DATABASE, CURRENT, FAILING, AWAITING = STATES = ("database", "current", "failing", "awaiting_confirmation")
MAX_REPORTED = 200
log = structlog.get_logger(__name__)


class _ConfirmationNeeded(Exception):
    """The set would remove many overrides: roll back, and wait for a confirmation."""

    def __init__(self, removals: Removals) -> None:
        super().__init__()
        self.removals = removals


def synchronise() -> str:
    """Check the folder, and apply its files to the database if they are valid. Return the state."""
    if not reads_files():
        SourceState.objects.exclude(state=DATABASE).update(state=DATABASE, report={})
        return DATABASE
    with transaction.atomic():
        is_free = try_lock(AdvisoryLock.OVERRIDE_FILES)
        state = SourceState.objects.get(id=1)
        return _check_folder(state) if is_free else state.state


def source_state() -> dict[str, Any]:
    """Return the state of the source, as the API shows it."""
    row = SourceState.objects.get(id=1)
    report = row.report if reads_files() else {}
    return {
        "source": "file" if reads_files() else "db",
        "state": row.state if reads_files() else DATABASE,
        "digest": row.digest,
        "revision": row.revision,
        "commit": report.get("commit", ""),
        "checked_at": row.checked_at,
        "loaded_at": row.loaded_at,
        "files": report.get("files", []),
        "errors": report.get("errors", []),
        "pending": report.get("pending"),
    }


def confirm(digest: str, *, actor: Actor) -> None:
    """Confirm exactly this set of files, which removes many overrides. Raises UnknownVersion."""
    row = SourceState.objects.select_for_update().get(id=1)
    pending = row.report.get("pending") or {}
    if not reads_files() or row.state != AWAITING or pending.get("digest") != digest:
        raise UnknownVersion("No set of files with this digest is waiting for confirmation.")
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
    """Keep the overrides from the files in the database; return their number. Raises ValueError."""
    row = SourceState.objects.select_for_update().get(id=1)
    if row.state in (FAILING, AWAITING):
        raise ValueError(
            "The files in the folder are not in effect. Correct or confirm them first, so that nothing is "
            "lost; see GET /api/v1/overrides/source."
        )
    count = Override.objects.exclude(declared_in="").update(declared_in="")
    SourceState.objects.filter(id=1).update(state=DATABASE, digest="", report={})
    return count


def _check_folder(row: SourceState) -> str:
    try:
        texts, head = _read_files(Path(settings.OVERRIDES_PATH))
    except OSError as error:
        file_error = FileError("", 0, 0, "", "unreadable", f"Cannot read OVERRIDES_PATH: {error}.")
        return _refuse(row, "", [], [file_error])
    if digest_of(texts) == row.digest and row.state == CURRENT:
        return _keep(row, head)
    folder = read_folder(texts)
    if folder.errors:
        return _refuse(row, folder.digest, folder.files, folder.errors)
    try:
        with transaction.atomic():
            revision = _apply_folder(folder, head, confirmed=row.confirmed_digest == folder.digest)
    except _ConfirmationNeeded as awaiting:
        return _await_confirmation(row, folder, awaiting.removals)
    except ControlplaneError as error:
        errors = error.errors or (FieldError("", error.code, error.detail),)
        return _refuse(row, folder.digest, folder.files, file_errors(folder, errors))
    return _accept(row, folder, revision, head)


def _read_files(path: Path) -> tuple[dict[str, bytes], str]:
    """Return the files and their commit; none if they are changed, or the checkout moved meanwhile."""
    before = head_commit(path)
    texts = read_texts(path)
    return texts, before if is_committed(path, texts) and head_commit(path) == before else ""


def _keep(row: SourceState, head: str) -> str:
    """Record that the files are unchanged, which another commit can have too."""
    report = {**row.report, "commit": head}
    SourceState.objects.filter(id=1).update(checked_at=Now(), report=report)
    return CURRENT


def _apply_folder(folder: Folder, head: str, *, confirmed: bool) -> int:
    """Apply the files to the database; return the revision, or 0 if nothing changed."""
    actor = files_at(head)
    earlier = begin(actor)
    installation, overrides = read_bundle(folder.documents)
    for kind in KINDS:
        for document in installation:
            if document.value["kind"] == kind:
                apply_document(document, actor)
    statements = read_statements(overrides)
    stated = _unique_statements(statements)
    catalogue = begin(actor)
    changed_by_address = {
        Address(row.resource_type, row.scope): row.changed_by for row in Override.objects.all()
    }
    removals = Removals(
        tuple(sorted(changed_by_address.keys() - stated.keys(), key=str)),
        len(changed_by_address),
        any(name != FILES.name for address, name in changed_by_address.items() if address not in stated),
    )
    if needs_confirmation(removals) and not confirmed:
        raise _ConfirmationNeeded(removals)
    drafts = []
    for address, current in load_current([*stated, *removals.addresses]).items():
        if statement := stated.get(address):
            drafts.append(Draft(current, statement.attributes, {}, statement.declared_in, statement.pointer))
        else:
            drafts.append(Draft(current, None, {}, pointer=""))
    # Files are reviewed in their repository.
    options = CommitOptions(asks=False, heeds_approvals=False, heeds_quotas=False)
    return commit(drafts, catalogue, actor=actor, options=options, earlier=earlier).revision


def _unique_statements(statements: Sequence[Statement]) -> dict[Address, Statement]:
    """Return statements by address. Raises InvalidRequest with both places of repeated addresses."""
    stated: dict[Address, Statement] = {}
    errors = []
    for statement in statements:
        first = stated.setdefault(statement.address, statement)
        if first is not statement:
            places = f"{first.declared_in} and {statement.declared_in}"
            message = f"{statement.address} is set twice, in {places}. Keep one of them."
            errors.append(FieldError(statement.pointer, "claimed_twice", message))
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors)
    return stated


def _accept(row: SourceState, folder: Folder, revision: int, head: str) -> str:
    row.state, row.digest, row.confirmed_digest = CURRENT, folder.digest, ""
    row.revision = revision or row.revision
    row.report = {"files": list(folder.files), "commit": head}
    row.checked_at = row.loaded_at = Now()
    row.save()
    data = {"digest": folder.digest, "revision": row.revision, "commit": head}
    _record_event(event_types.SOURCE_LOADED, folder.digest, data)
    log.info("overrides_source.loaded", files=len(folder.files), revision=row.revision, commit=head)
    return CURRENT


def _refuse(row: SourceState, digest: str, files: Sequence[str], errors: Sequence[FileError]) -> str:
    reported = [asdict(error) for error in errors[:MAX_REPORTED]]
    return _record_failure(row, FAILING, {"digest": digest, "files": list(files), "errors": reported})


def _await_confirmation(row: SourceState, folder: Folder, removals: Removals) -> str:
    pending = {
        "digest": folder.digest,
        "removals": len(removals.addresses),
        "stored": removals.stored,
        "addresses": [str(address) for address in removals.addresses[:MAX_REPORTED]],
    }
    report = {"digest": folder.digest, "files": list(folder.files), "pending": pending}
    return _record_failure(row, AWAITING, report)


def _record_failure(row: SourceState, state: str, report: dict[str, Any]) -> str:
    """Store why the set does not take effect, and record an event if that is new."""
    # Of the set in effect.
    report = {**report, "commit": row.report.get("commit", "")}
    is_new = (row.state, row.report) != (state, report)
    row.state, row.report, row.checked_at = state, report, Now()
    row.save(update_fields=["state", "report", "checked_at"])
    if is_new:
        _record_event(
            event_types.SOURCE_REFUSED, report["digest"], {"digest": report["digest"], "state": state}
        )
        log.warning("overrides_source.refused", state=state, errors=report.get("errors", [])[:5])
    return state


def _record_event(event_type: Any, digest: str, data: dict[str, Any]) -> None:
    audit.record(
        event_type,
        "overrides_source",
        digest or "none",
        actor=FILES,
        before=None,
        after=data,
        data=data,
        scope=Scope(),
    )
