"""The state of the chain as the last verification left it. Nothing is verified here."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime, timedelta
from enum import StrEnum

from controlplane.access.audit_chain.models import AuditCheck, AuditSeal, AuditSegment

# Days are sealed, and seals verified, once a day.
_PATIENCE = timedelta(days=2)


class ChainCondition(StrEnum):
    """outdated: intact when it was last verified, which is long ago. unverified: never verified so far."""

    VERIFIED = "verified"
    BROKEN = "broken"
    OUTDATED = "outdated"
    UNVERIFIED = "unverified"


@dataclass(frozen=True, slots=True)
class ChainState:
    """days, records: that were verified at `verified_at`. last_record, last_day: the newest of them.

    first_break: place and kind of the first of `breaks`. sealed_until: the newest sealed day.
    """

    condition: ChainCondition
    verified_at: datetime | None = None
    days: int = 0
    records: int = 0
    last_record: int | None = None
    last_day: date | None = None
    breaks: int = 0
    first_break: str = ""
    sealed_until: date | None = None


def condition_of(verified_at: datetime | None, breaks: int, now: datetime) -> ChainCondition:
    """Return the condition. A break stays one, however long ago it was found."""
    if verified_at is None:
        return ChainCondition.UNVERIFIED
    if breaks:
        return ChainCondition.BROKEN
    return ChainCondition.OUTDATED if now - verified_at > _PATIENCE else ChainCondition.VERIFIED


def load_chain_state(now: datetime) -> ChainState:
    """Return the state, from four rows at most, however long the log is."""
    newest = AuditSeal.objects.order_by("-number").first()
    check = AuditCheck.objects.order_by("-id").first()
    if check is None:
        return ChainState(condition_of(None, 0, now), sealed_until=newest.day if newest else None)
    seal = AuditSeal.objects.filter(sealed_at__lte=check.at).order_by("-number").first()
    return ChainState(
        condition_of(check.at, check.break_count, now),
        check.at,
        check.seal_count,
        check.record_count,
        _last_record(seal) if seal else None,
        seal.day if seal else None,
        check.break_count,
        check.first_break,
        newest.day if newest else None,
    )


def _last_record(seal: AuditSeal) -> int | None:
    """Return the id of the last sealed record; a day may have none."""
    rows = AuditSegment.objects.filter(seal_id__lte=seal.number).order_by("-seal_id", "-place")
    ids = rows.values_list("record_ids", flat=True).first()
    return ids[-1] if ids else None
