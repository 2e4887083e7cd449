"""Publishing teams: a team's organisation, and the principals with the role publisher for it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.models import Principal, RoleBinding
from controlplane.access.role_bindings import BindingTerms, bind_role, check_may_grant, unbind_role
from controlplane.access.team_models import Team, Via
from controlplane.access.teams.teams import check_team_name, create_team
from controlplane.errors import FieldError, InvalidRequest, PermissionDenied, UnknownTeam
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.roles import Action, Role
from controlplane.preconditions import Precondition, check
from controlplane.scopes import Scope
from registry.agent_configs.documents.published import DocumentId
from registry.agent_configs.event_types import TEAM_CHANGED
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.owners import owner_of, owning_team
from registry.agent_configs.publishing.hidden_teams import hidden_teams
from registry.agent_configs.publishing.publish import get_visible_document
from registry.agent_configs.team_models import PublishingTeam


@dataclass(frozen=True, slots=True)
class TeamSpec:
    """A publishing team as a request specifies it. publishers: names of principals."""

    organisation: str
    publishers: Sequence[str]


def may_publish(caller: Caller, team: str) -> bool:
    """True if a role of the caller lets it publish for the team."""
    owner = owner_of(team)
    actions = (Action.AGENT_CONFIG_PUBLISH, Action.AGENT_CONFIG_RULE)
    return any(caller.verdict(action, owner=owner).allowed for action in actions)


def check_may_publish(caller: Caller, team: str) -> None:
    """Raise PermissionDenied unless the caller may publish for the team, UnknownTeam if it is another's."""
    if may_publish(caller, team):
        return
    check_may_name(caller, team)
    raise PermissionDenied(
        f"{caller.name} is not a publisher of {team[:80]!r}. An administrator can add it to the team.",
        action=Action.AGENT_CONFIG_PUBLISH.value,
    )


def get_ruled_document(document: DocumentId, caller: Caller) -> AgentConfig:
    """Return the document. Raises UnknownAgentConfig, PermissionDenied unless the caller administers it."""
    row = get_visible_document(document, caller)
    caller.require(Action.AGENT_CONFIG_RULE, owner=owner_of(row.team))
    return row


def check_may_name(caller: Caller, team: str) -> None:
    """Raise UnknownTeam if the caller's roles are for other teams, whether the team exists or not."""
    hidden = hidden_teams(caller)
    if hidden.all_but is not None and team in hidden:
        raise UnknownTeam(f"Team {team[:80]!r} does not exist.")


def visible_teams(caller: Caller) -> QuerySet[PublishingTeam]:
    """Return the publishing teams that the caller may see."""
    return PublishingTeam.objects.filter(hidden_teams(caller).visible("team__slug")).select_related("team")


def get_team(name: str, caller: Caller) -> PublishingTeam:
    """Return the publishing team. Raises UnknownTeam if it does not exist or the caller may not see it."""
    row = visible_teams(caller).filter(team=owner_of(name), team__slug=name).first()
    if row is None:
        raise UnknownTeam(f"Team {name[:80]!r} does not exist.")
    return row


def publishers_of(rows: Iterable[PublishingTeam]) -> dict[UUID, list[str]]:
    """Return by team the principals with the role publisher for it, by name. Claims are not counted."""
    names: defaultdict[UUID, list[str]] = defaultdict(list)
    bindings = _bindings_in_force([row.team_id for row in rows])
    for team_id, name in bindings.order_by("principal__name").values_list("owned_by_id", "principal__name"):
        names[team_id].append(name)
    return names


@transaction.atomic
def put_team(
    name: str, spec: TeamSpec, *, caller: Caller, actor: Actor, precondition: Precondition | None = None
) -> tuple[PublishingTeam, bool]:
    """Set a team's organisation and publishers. Raises InvalidRequest for unknown principals."""
    check_team_name(name, "/name")
    check_may_name(caller, name)
    team = owning_team(name)
    caller.require(Action.AGENT_CONFIG_RULE, owner=team.id if team else None)
    principals = _get_principals(spec.publishers)
    row, before = _lock(team)
    check(precondition, row.version if row else None)
    after = _entry(name, spec.organisation, principals)
    if row and before == after:
        return row, False
    team = team or create_team(name, actor=actor)
    if spec.organisation != (row.organisation if row else ""):
        # The publishers of an organisation see the documents of all its teams.
        caller.require(Action.AGENT_CONFIG_RULE)
    _replace_publishers(team, principals, caller=caller, actor=actor)
    # After the role bindings, which a trigger counts, too: this is one change.
    version = row.version + 1 if row else 1
    fields = {"organisation": spec.organisation, "version": version}
    saved, _ = PublishingTeam.objects.update_or_create(team=team, defaults=fields)
    _record(team, actor, before=before, after=after)
    return saved, row is None


def _lock(team: Team | None) -> tuple[PublishingTeam | None, dict[str, Any] | None]:
    """Lock a publishing team with its role bindings, in the order in which a change of a role locks them."""
    if team is None:
        return None, None
    ids = list(_publisher_bindings([team.id]).select_for_update(of=("self",)).order_by("id"))
    row = PublishingTeam.objects.select_for_update().filter(team=team).first()
    if row is None:
        return None, None
    names = publishers_of([row])[team.id] if ids else []
    return row, _entry(team.slug, row.organisation, names)


def _replace_publishers(team: Team, names: Collection[str], *, caller: Caller, actor: Actor) -> None:
    """Give the role publisher to these principals alone. Roles by claims and of teams stay."""
    in_force = set(_bindings_in_force([team.id]).values_list("principal__name", flat=True))
    if in_force == set(names):
        return
    check_may_grant(caller, Grant(Role.PUBLISHER, team=team.ref))
    # Expired ones as well: they would be in the way of new ones.
    for binding in _publisher_bindings([team.id]).exclude(principal__name__in=in_force & set(names)):
        unbind_role(binding.id, actor=actor)
    for principal in Principal.objects.filter(name__in=set(names) - in_force).order_by("name"):
        bind_role(principal, Role.PUBLISHER, Scope(), actor=actor, terms=BindingTerms(owned_by=team))


def _publisher_bindings(team_ids: Collection[UUID]) -> QuerySet[RoleBinding]:
    return RoleBinding.objects.filter(
        owned_by__in=team_ids,
        role=Role.PUBLISHER.value,
        principal__isnull=False,
        via=Via.MANUAL,
        **Scope().segments,
    )


def _bindings_in_force(team_ids: Collection[UUID]) -> QuerySet[RoleBinding]:
    return _publisher_bindings(team_ids).filter(Q(expires_at=None) | Q(expires_at__gt=Now()))


def _get_principals(names: Sequence[str]) -> list[str]:
    """Return the names, sorted. Raises InvalidRequest for unknown ones."""
    known_names = set(Principal.objects.filter(name__in=names).values_list("name", flat=True))
    unknown = [
        FieldError(f"/publishers/{index}", "unknown_principal", f"Unknown principal {name[:80]!r}.")
        for index, name in enumerate(names)
        if name not in known_names
    ]
    if unknown:
        raise InvalidRequest(unknown[0].message, errors=unknown)
    return sorted(known_names)


def _entry(name: str, organisation: str, publishers: Sequence[str]) -> dict[str, Any]:
    return {"name": name, "organisation": organisation, "publishers": list(publishers)}


def _record(team: Team, actor: Actor, *, before: dict[str, Any] | None, after: dict[str, Any]) -> None:
    audit.record(
        TEAM_CHANGED,
        "publishing_team",
        team.slug,
        actor=actor,
        before=before,
        after=after,
        data={"team": team.slug, "organisation": after["organisation"]},
        team_id=team.id,
    )
