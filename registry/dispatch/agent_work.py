"""What an agent still has: it is not removed, deregistered or transferred while that matters.

A retired agent keeps its resources, because nobody knows whether they still run. What was being requested of
it moves to other agents, deletions are given up with an alarm, and a resource that runs, fails or is being
created there has a reason that names the agent; its owner can delete it, with force at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet
from django.db.models.functions import Now

from controlplane.access.team_models import Team
from controlplane.errors import StillInUse
from registry.dispatch.lifecycle.states import SETTLED
from registry.dispatch.models import AssignmentRow, ResourceRow

_SETTLED = [state.value for state in SETTLED]


def unsettled_of(agent_id: UUID | OuterRef) -> QuerySet[AssignmentRow]:
    """Return the assignments of the agent of which something may exist."""
    return AssignmentRow.objects.filter(agent_id=agent_id).exclude(state__in=_SETTLED)


def unsettled_among(agent_ids: Sequence[UUID]) -> int:
    """Return the number of resources of the agents, of which something may exist."""
    rows = AssignmentRow.objects.filter(agent_id__in=agent_ids).exclude(state__in=_SETTLED)
    return rows.values("resource").distinct().count()


def check_no_work(agent_id: UUID, next_step: str) -> None:
    """Raise StillInUse if the agent has resources, or deletions that are not completed."""
    count = unsettled_of(agent_id).values("resource").distinct().count()
    if count:
        amount = "1 resource" if count == 1 else f"{count} resources"
        raise StillInUse(f"This agent still has {amount}. Delete or move them first, {next_step}.")


def check_may_serve(agent_id: UUID, team: Team | None) -> None:
    """Raise StillInUse if the agent has resources that an agent of the team may not serve."""
    if team is None:
        return
    foreign = unsettled_of(agent_id).exclude(resource__team=team)
    count = foreign.values("resource").distinct().count()
    if count:
        amount = "1 resource that does" if count == 1 else f"{count} resources that do"
        raise StillInUse(
            f"This agent has {amount} not belong to team {team.slug!r}, and agents of a team serve only its "
            "own. Delete them first."
        )


def look_again_at(agent_id: UUID) -> int:
    """Have the sweep look soon at the resources of an agent that was retired, removed or came back."""
    resources = ResourceRow.objects.filter(id__in=unsettled_of(agent_id).values("resource"))
    later = Q(due_at=None) | Q(due_at__gt=Now())
    ids = resources.filter(later).order_by("id").select_for_update(of=("self",), skip_locked=True)
    return ResourceRow.objects.filter(id__in=list(ids.values_list("id", flat=True))).update(due_at=Now())


def resources_of(team: Team) -> set[str]:
    """Return what keeps the team: resources, except records of deleted ones."""
    unsettled = AssignmentRow.objects.filter(resource__team=team).exclude(state__in=_SETTLED)
    existing = ResourceRow.objects.filter(team=team, deleted_at=None)
    return {"resources"} if existing.exists() or unsettled.exists() else set()
