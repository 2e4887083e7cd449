"""What one team may publish: how many documents, how many bytes, and how often.

A change above a quota is refused before it takes a lock, so that a team in a loop does not delay others.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.conf import settings
from django.db.models import Count, Func, IntegerField, QuerySet, Sum
from django.db.models.functions import Coalesce

from controlplane.database.clock import database_now
from controlplane.errors import LimitReached, TooManyAttempts
from registry.agent_configs.documents.change_rate import Budget, Pace, is_busy, retry_after, spent
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.part_models import AgentConfigPace

# Up to so many recent changes of a team take effect at once; more are taken together by the next look.
_BURST = 20
# A recompute of this much text takes about a tenth of a second.
_BYTES_AT_ONCE = 256 << 10


def check_documents(document: DocumentId) -> None:
    """Raises LimitReached if the team has as many documents as it may have."""
    most = settings.AGENT_CONFIGS_DOCUMENTS_PER_TEAM
    if AgentConfig.objects.filter(team=document.namespace, deleted_at=None).count() >= most:
        message = f"The team {document.namespace} has {most} documents, which is the limit. Delete one first."
        raise LimitReached(message)


def check_bytes(document: DocumentId, text: str, *, before: int) -> None:
    """Raises LimitReached if the team would have too many bytes of documents. before: bytes of this one."""
    most, size = settings.AGENT_CONFIGS_TEAM_BYTES, len(text.encode(errors="replace"))
    others = AgentConfig.objects.filter(team=document.namespace, deleted_at=None)
    others = others.exclude(source=document.source, name=document.name)
    total = _totals(others)["bytes"] + size
    if total > most and size > before:
        message = (
            f"The documents of the team {document.namespace} would have {total} bytes, more than {most}. "
            "Remove what is not needed, or ask an operator to raise AGENT_CONFIGS_TEAM_BYTES."
        )
        raise LimitReached(message)


def check_pace(team: str) -> None:
    """Refuse early, without a lock, what `spend_change` would refuse. Raises TooManyAttempts."""
    before = _budget(AgentConfigPace.objects.filter(team=team))
    now = database_now()
    if before and spent(before, pace=pace(), now=now) is None:
        raise _too_many(team, before, now)


def spend_change(team: str) -> None:
    """Count one change of a team. Raises TooManyAttempts."""
    now = database_now()
    AgentConfigPace.objects.bulk_create(
        [AgentConfigPace(team=team, left=pace().changes, at=now)], ignore_conflicts=True
    )
    rows = AgentConfigPace.objects.filter(team=team)
    before = _budget(rows.select_for_update())
    after = spent(before, pace=pace(), now=now)
    if before and after is None:
        raise _too_many(team, before, now)
    if after:
        rows.update(left=after.left, at=after.at)


def takes_effect_at_once(team: str, more: int = 0) -> bool:
    """True while a recompute is quick, and the team is not in a loop. more: bytes of a new document.

    Else the next look takes the change up, with whatever else changed.
    """
    totals = _totals(AgentConfig.objects.filter(deleted_at=None))
    if totals["documents"] >= settings.AGENT_CONFIGS_AT_ONCE or totals["bytes"] + more > _BYTES_AT_ONCE:
        return False
    budget = _budget(AgentConfigPace.objects.filter(team=team))
    return budget is None or not is_busy(budget, pace=pace(), burst=_BURST)


def pace() -> Pace:
    window = timedelta(seconds=settings.AGENT_CONFIGS_TEAM_CHANGES_WINDOW_SECONDS)
    return Pace(settings.AGENT_CONFIGS_TEAM_CHANGES, window)


def _totals(rows: QuerySet[AgentConfig]) -> dict[str, Any]:
    """Documents, and bytes of their texts, which Postgres knows without reading them."""
    size = Func("text", function="octet_length", output_field=IntegerField())
    return rows.aggregate(documents=Count("id"), bytes=Coalesce(Sum(size), 0))


def _budget(rows: QuerySet[AgentConfigPace]) -> Budget | None:
    row = rows.first()
    return Budget(row.left, row.at) if row else None


def _too_many(team: str, before: Budget, now: Any) -> TooManyAttempts:
    seconds = retry_after(before, pace=pace(), now=now)
    message = (
        f"The team {team} changed its documents {pace().changes} times within "
        f"{pace().window.total_seconds():.0f} seconds. Try again in {seconds} seconds."
    )
    return TooManyAttempts(message, retry_after=seconds)
