"""Queries over agents."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from django.db import models
from django.db.models import ExpressionWrapper, Q, Value
from django.db.models.functions import Coalesce, Now

from controlplane.database.owned import OwnedQuerySet
from controlplane.identity.roles import Action
from registry.agents.liveness import LATE_AFTER_INTERVALS, LEASE_INTERVALS
from registry.agents.states import LIVE

if TYPE_CHECKING:
    from registry.agents.models import Agent  # noqa: F401  (named in quotes below)


def late(interval: timedelta) -> Q:
    """Return `LivenessPolicy.is_late` of live agents as SQL; a test compares the two."""
    # With a configured lease, the interval is a third of it.
    set_seconds = Coalesce("lease__lease_seconds", "lease__environment__lease_seconds", Value(0))
    lateness = Value(timedelta(seconds=LATE_AFTER_INTERVALS / LEASE_INTERVALS), models.DurationField())
    allowed_silence = ExpressionWrapper(set_seconds * lateness, models.DurationField())
    return Q(
        Q(lease__renewed_at__lt=Now() - allowed_silence),
        state__in=LIVE,
        lease__renewed_at__lt=Now() - LATE_AFTER_INTERVALS * interval,
    )


class AgentQuerySet(OwnedQuerySet["Agent"]):
    read_action = Action.AGENT_READ

    def shown(self) -> AgentQuerySet:
        """Add team, lease, environment, report, messaging, and the database's time as `now`, in one query."""
        related = ("lease__environment", "report", "team", "messaging")
        agents: AgentQuerySet = self.select_related(*related).annotate(now=Now())
        return agents
