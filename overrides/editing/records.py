"""Rows of history, audit log and event log for changed overrides.

Attributes are written as JSON once, and the text is used wherever a row contains them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import quote_plus

import msgspec

from controlplane.access.audit import EncodedMutation
from controlplane.events.types import EventType
from controlplane.scopes import SEGMENTS, Scope
from overrides import event_types
from overrides.editing.draft import Draft
from overrides.models import Revision

# Each process caches the last 10,000 events for event streams.
_MAX_EVENT_BYTES = 8 * 1024
# A character has at most four bytes in UTF-8.
_SURELY_SMALL = _MAX_EVENT_BYTES // 4 - 16

COLUMNS = (
    *("override_id", "resource_type", *SEGMENTS, "attributes", "owners", "declared_in", "version"),
    *("revision", "changed_at", "changed_by", "change_message", "request_id"),
)


def version_row(draft: Draft, override_id: object, ending: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return the draft's row of COLUMNS. ending: see `ending_of`."""
    address = draft.address
    return (
        override_id,
        address.resource_type,
        *address.scope.path,
        None if draft.after is None else draft.text,
        draft.owners_text,
        draft.declared_in,
        draft.current.version + 1,
        *ending,
    )


def ending_of(revision: Revision) -> tuple[Any, ...]:
    """Return the last columns, which all rows of the revision share; the time as text, to write it once."""
    return (
        revision.revision,
        revision.made_at.isoformat(),
        revision.made_by,
        revision.change_message,
        revision.request_id,
    )


def mutation(draft: Draft, revision: int) -> EncodedMutation:
    """Return the draft's audit row and event."""
    current, scope, resource_type = draft.current, draft.address.scope, draft.address.resource_type
    version = current.version + 1
    before, after = current.text or "null", draft.text
    head = f'{{"resource_type":{_quoted(resource_type)},"scope":{_scope_text(scope)}'
    truncated = _is_large(before, after)
    snapshots = '"before":null,"after":null' if truncated else f'"before":{before},"after":{after}'
    return EncodedMutation(
        _event_type(draft),
        draft.name,
        None if current.text is None else f'{head},"attributes":{before},"version":{current.version}}}',
        None if draft.after is None else f'{head},"attributes":{after},"version":{version}}}',
        f'{head},"version":{version},"revision":{revision},{snapshots},'
        f'"truncated":{"true" if truncated else "false"},'
        f'"version_url":{_quoted(_version_url(resource_type, scope, version))}}}',
        scope.path,
    )


def _is_large(before: str, after: str) -> bool:
    """Return whether both together, as a JSON list, are too large for an event."""
    if len(before) + len(after) <= _SURELY_SMALL:
        return False
    return len(f"[{before},{after}]".encode()) > _MAX_EVENT_BYTES


def _version_url(resource_type: str, scope: Scope, version: int) -> str:
    segments = zip(SEGMENTS, scope.path, strict=True)
    query = "&".join([f"{name}={_in_query(value)}" for name, value in segments if value])
    path = f"/api/v1/overrides/{resource_type}/versions/{version}"
    return f"{path}?{query}" if query else path


def _event_type(draft: Draft) -> EventType:
    if draft.current.attributes is None:
        return event_types.OVERRIDE_CREATED
    return event_types.OVERRIDE_DELETED if draft.after is None else event_types.OVERRIDE_UPDATED


def _scope_text(scope: Scope) -> str:
    return (
        f'{{"domain":{_quoted(scope.domain)},"project":{_quoted(scope.project)},'
        f'"workflow":{_quoted(scope.workflow)},"launch_plan":{_quoted(scope.launch_plan)}}}'
    )


# Projects, domains and workflows repeat from document to document.
@lru_cache(maxsize=8192)
def _in_query(segment: str) -> str:
    return quote_plus(segment)


@lru_cache(maxsize=8192)
def _quoted(text: str) -> str:
    return msgspec.json.encode(text).decode()
