"""Quotas of a team: number of documents, bytes and rate of changes.

A change above a quota is rejected before it takes a lock, so that a script in a loop delays no other team.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Func, IntegerField, QuerySet, Sum
from django.db.models.functions import Coalesce

from controlplane.database.clock import database_now
from controlplane.errors import LimitReached, TooManyAttempts
from registry.agent_configs.documents.change_rate import (
    ChangeBudget,
    ChangeRate,
    exceeds_burst,
    retry_after,
    spend_one_change,
)
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.part_models import AgentConfigPace

# Up to this many recent changes of a team take effect at once; the next reconciliation batches the others.
_BURST = 20
# Recomputing this much text takes about a tenth of a second.
_BYTES_AT_ONCE = 256 << 10


def check_documents(document: DocumentId) -> None:
    """Raise LimitReached if the team has the maximum number of documents."""
    most = settings.AGENT_CONFIGS_DOCUMENTS_PER_TEAM
    if AgentConfig.objects.filter(team=document.namespace, deleted_at=None).count() >= most:
        message = (
            f"The team {document.namespace} has reached its limit of {most} documents. Delete one first."
        )
        raise LimitReached(message)


def check_bytes(document: DocumentId, text: str, *, before: int) -> None:
    """Raise LimitReached if the team's documents would be too large. before: bytes of this document."""
    most, size = settings.AGENT_CONFIGS_TEAM_BYTES, len(text.encode(errors="replace"))
    other_documents = AgentConfig.objects.filter(team=document.namespace, deleted_at=None)
    other_documents = other_documents.exclude(source=document.source, name=document.name)
    total = _count_totals(other_documents)["bytes"] + size
    if total > most and size > before:
        message = (
            f"The team {document.namespace} would have {total} bytes of documents; the maximum is {most}. "
            "Delete documents, or ask an operator to raise AGENT_CONFIGS_TEAM_BYTES."
        )
        raise LimitReached(message)


def check_change_rate(team: str) -> None:
    """Reject early and without a lock what `spend_change` would reject. Raises TooManyAttempts."""
    before = _load_budget(AgentConfigPace.objects.filter(team=team))
    now = database_now()
    if before and spend_one_change(before, rate=change_rate(), now=now) is None:
        raise _too_many_changes(team, before, now)


def spend_change(team: str) -> None:
    """Count one change of a team. Raises TooManyAttempts."""
    now = database_now()
    AgentConfigPace.objects.bulk_create(
        [AgentConfigPace(team=team, left=change_rate().changes, at=now)], ignore_conflicts=True
    )
    rows = AgentConfigPace.objects.filter(team=team)
    before = _load_budget(rows.select_for_update())
    after = spend_one_change(before, rate=change_rate(), now=now)
    if before and after is None:
        raise _too_many_changes(team, before, now)
    if after:
        rows.update(left=after.left, at=after.at)


def takes_effect_at_once(team: str, more: int = 0) -> bool:
    """True while a recompute is quick and the team stays within its burst. more: bytes of a new document.

    Otherwise the next reconciliation applies the change together with others.
    """
    totals = _count_totals(AgentConfig.objects.filter(deleted_at=None))
    if totals["documents"] >= settings.AGENT_CONFIGS_AT_ONCE or totals["bytes"] + more > _BYTES_AT_ONCE:
        return False
    budget = _load_budget(AgentConfigPace.objects.filter(team=team))
    return budget is None or not exceeds_burst(budget, rate=change_rate(), burst=_BURST)


def change_rate() -> ChangeRate:
    window = timedelta(seconds=settings.AGENT_CONFIGS_TEAM_CHANGES_WINDOW_SECONDS)
    return ChangeRate(settings.AGENT_CONFIGS_TEAM_CHANGES, window)


def _count_totals(rows: QuerySet[AgentConfig]) -> dict[str, Any]:
    """Count documents and the bytes of their texts, which Postgres knows without reading them."""
    size = Func("text", function="octet_length", output_field=IntegerField())
    return rows.aggregate(documents=Count("id"), bytes=Coalesce(Sum(size), 0))


def _load_budget(rows: QuerySet[AgentConfigPace]) -> ChangeBudget | None:
    row = rows.first()
    return ChangeBudget(row.left, row.at) if row else None


def _too_many_changes(team: str, before: ChangeBudget, now: Any) -> TooManyAttempts:
    seconds = retry_after(before, rate=change_rate(), now=now)
    message = (
        f"The team {team} changed its documents {change_rate().changes} times within "
        f"{change_rate().window.total_seconds():.0f} seconds. Try again in {seconds} seconds."
    )
    return TooManyAttempts(message, retry_after=seconds)
