"""Select the generation of a document to serve, and detect flapping documents. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from registry.agent_configs.bundles.bundle import Bundle
from registry.agent_configs.documents.content import Content
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.documents.reading import Reading


@dataclass(frozen=True, slots=True)
class Generation:
    """A valid generation. seen_at: when it was last the latest."""

    number: int
    content: Content
    seen_at: datetime


@dataclass(frozen=True, slots=True)
class GenerationPolicy:
    """Limits for invalid and flapping documents; see docs/adr/0021.

    max_last_good_age: how long an old generation is served while the latest is invalid; None is unlimited.
    max_changes: a document with more changes within `window` is quarantined.
    """

    max_last_good_age: timedelta | None = None
    max_changes: int = 10
    window: timedelta = timedelta(minutes=10)


def find_served_generation(
    latest: int, reading: Reading, last_good: Generation | None, *, policy: GenerationPolicy, now: datetime
) -> Generation | None:
    """Return the latest generation if it is valid, else the last good one unless it is too old."""
    if reading.content is not None:
        return Generation(latest, reading.content, now)
    if last_good is None:
        return None
    too_old = policy.max_last_good_age is not None and now - last_good.seen_at > policy.max_last_good_age
    return None if too_old else last_good


def is_flapping(changed_at: Iterable[datetime], *, policy: GenerationPolicy, now: datetime) -> bool:
    """True if a document changed too often within the window."""
    return sum(now - time < policy.window for time in changed_at) > policy.max_changes


def find_suspects(applied: Bundle | None, rejected: Bundle) -> frozenset[DocumentId]:
    """Return the documents that may have caused a rejection: those that differ from the applied bundle."""
    applied_inputs = set(applied.inputs) if applied else set()
    return frozenset(
        bundle_input.document for bundle_input in rejected.inputs if bundle_input not in applied_inputs
    )
