"""Queries over agents."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import ExpressionWrapper, Q, Value
from django.db.models.functions import Coalesce, Now

from registry.agents.liveness import LATE_AFTER_INTERVALS, LEASE_INTERVALS
from registry.agents.states import LIVE

if TYPE_CHECKING:
    from registry.agents.models import Agent


def late(interval: timedelta) -> Q:
    """`LivenessPolicy.is_late` of live agents in SQL, to count and filter many; a test compares the two."""
    # Of an agent whose lease is set, a third of it is the interval.
    set_seconds = Coalesce("lease__lease_seconds", "lease__environment__lease_seconds", Value(0))
    of_own = Value(timedelta(seconds=LATE_AFTER_INTERVALS / LEASE_INTERVALS), models.DurationField())
    own = ExpressionWrapper(set_seconds * of_own, models.DurationField())
    return Q(
        Q(lease__renewed_at__lt=Now() - own),
        state__in=LIVE,
        lease__renewed_at__lt=Now() - LATE_AFTER_INTERVALS * interval,
    )


class AgentQuerySet(models.QuerySet["Agent"]):
    def shown(self) -> AgentQuerySet:
        """With lease, environment, report, and the database's clock as `now`: one query."""
        shown: AgentQuerySet = self.select_related("lease__environment", "report").annotate(now=Now())
        return shown
