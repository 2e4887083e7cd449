"""The command `effective` itself: the effective values at a scope, once or as they change."""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from cpctl.columns import Kind, field
from cpctl.commands.get import show
from cpctl.effective_leaves import Leaves, changes, leaves, origin
from cpctl.errors import TimedOut
from cpctl.output import Column, Format, document, say, signed, stream_item
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Api, Response

_PATH = "overrides/effective"
# Below the server's maximum of 60 s, so that proxies which end a silent connection after a minute do not.
_POLL_SECONDS = 30
# A server that stops answers at once: do not ask it again as fast as it can answer.
_EARLY_SECONDS = 0.5
_LEAF = Kind(
    "effective values",
    _PATH,
    (
        field("TYPE", "resource_type"),
        field("FIELD", "pointer"),
        field("VALUE", "value"),
        Column("SET BY", origin),
        Column("WHY", lambda leaf: leaf["why"], wide=True),
    ),
    key="",
    name_of=lambda leaf: f"{leaf['resource_type']} {leaf['pointer']}",
)


def show_values(query: Mapping[str, Any], how: Format, *, headers: bool) -> None:
    """Print the effective values at a scope."""
    answer = SESSION.api().get(_PATH, query).json()
    if how.is_whole:
        return say(*document(answer, how))
    return show(_LEAF, list(leaves(answer).values()), how, headers=headers)


def follow_values(
    query: Mapping[str, Any], how: Format, *, headers: bool, once: bool, timeout: float | None
) -> None:
    """Print the effective values, then each change. once: end after the first. Raises TimedOut."""
    until = math.inf if timeout is None else time.monotonic() + timeout
    api = SESSION.api()
    first = api.get(_PATH, query)
    previous = leaves(first.json())
    _show_first(first.json(), previous, how, headers=headers)
    for answer in _answers(api, query, first.etag, until):
        current = leaves(answer)
        is_changed = _show_changes(answer, previous, current, how)
        previous = current
        if once and is_changed:
            return
    raise TimedOut(f"Timed out after {timeout:g} s{': no value has changed' if once else ''}.")


def _answers(api: Api, query: Mapping[str, Any], etag: str, until: float) -> Iterator[Any]:
    """Yield each answer that differs from the one before, until the time is over."""
    while (left := until - time.monotonic()) > 0:
        began = time.monotonic()
        response = _poll(api, query, etag, max(1, math.ceil(min(_POLL_SECONDS, left))))
        if response.status != 304:
            etag = response.etag
            yield response.json()
        elif time.monotonic() - began < _EARLY_SECONDS:
            time.sleep(_EARLY_SECONDS)


def _poll(api: Api, query: Mapping[str, Any], etag: str, wait: int) -> Response:
    headers = {"If-None-Match": etag}
    return api.send("GET", _PATH, query={**query, "wait": wait}, headers=headers, timeout=wait + 10)


def _show_first(answer: Any, values: Leaves, how: Format, *, headers: bool) -> None:
    if how.is_whole:
        say(*stream_item(answer, how))
    else:
        show(_LEAF, list(values.values()), how, headers=headers)
    sys.stdout.flush()


def _show_changes(answer: Any, before: Leaves, after: Leaves, how: Format) -> bool:
    """Print what has changed. Return False if no value did, such as when only a shadowed one changed."""
    leaf_changes = changes(before, after)
    if how.is_whole:
        say(*stream_item(answer, how))
    else:
        paint = SESSION.paint()
        say(*(signed(change.line(), paint) for change in leaf_changes))
    sys.stdout.flush()
    return bool(leaf_changes)
