"""Queries over agents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.db import models
from django.db.models.functions import Now

from registry.agents.states import LIVE

if TYPE_CHECKING:
    from registry.models import Agent


class AgentQuerySet(models.QuerySet["Agent"]):
    def live(self) -> AgentQuerySet:
        return self.filter(state__in=LIVE)

    def shown(self) -> AgentQuerySet:
        """With the lease and the database's clock, by which lateness is judged: one query."""
        shown: AgentQuerySet = self.select_related("lease").annotate(now=Now())
        return shown
