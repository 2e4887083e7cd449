"""Teams by the names in documents: the owner, and the organisation that sees a team's documents."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from controlplane.access.organisations import of_all_organisations
from controlplane.access.team_models import Team
from registry.agent_configs.models import AgentConfig, AgentConfigGrant, ClaimRecord, DataPlane
from registry.agent_configs.pin_models import AgentConfigPin
from registry.agent_configs.team_models import PublishingTeam


def owners_of(names: Collection[str]) -> dict[str, UUID]:
    """Return the id of the team by name. A name without a team belongs to the platform.

    Organisations can have teams of one name; the oldest owns what is published under it.
    """
    rows = Team.objects.filter(slug__in=names).order_by("slug", "created_at", "id").distinct("slug")
    with of_all_organisations():
        return dict(rows.values_list("slug", "id"))


def owning_team(name: str) -> Team | None:
    """Return the team with this name."""
    with of_all_organisations():
        return Team.objects.filter(slug=name).order_by("created_at", "id").first()


def owner_of(name: str) -> UUID | None:
    """Return the id of the team with this name; None for the platform."""
    return owners_of([name]).get(name)


def reader_of(owner: UUID | None, plane: DataPlane | None) -> UUID | None:
    """Return the team that may read of its document in a data plane: not in another team's data plane."""
    is_foreign = plane is not None and plane.team_id not in (None, owner)
    return None if is_foreign else owner


def organisations() -> dict[str, str]:
    """Return the organisation of each team that has one."""
    rows = PublishingTeam.objects.exclude(organisation="")
    return dict(rows.values_list("team__slug", "organisation"))


def find_owned(team: Team) -> set[str]:
    """Return the kinds of objects that belong to the team by its name.

    Without the team they would belong to the platform, and its organisation would no longer hide them.
    """
    if owner_of(team.slug) != team.id:
        return set()
    rows = {
        "agent configurations": AgentConfig.objects.filter(team=team.slug, deleted_at=None),
        "grants": AgentConfigGrant.objects.filter(team=team.slug),
        "pins": AgentConfigPin.objects.in_effect().filter(team=team.slug),
        # Also of deleted documents, for a while.
        "claims": ClaimRecord.objects.filter(team=team.slug),
    }
    return {kind for kind, owned in rows.items() if owned.exists()}
