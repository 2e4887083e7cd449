"""Teams, their publishers, and the teams whose documents a caller may see."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from django.db import transaction

from controlplane.access import audit
from controlplane.access.models import Principal
from controlplane.errors import FieldError, InvalidRequest, PermissionDenied, UnknownTeam
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition, check
from registry.agent_configs.event_types import TEAM_CHANGED
from registry.agent_configs.models import PublishingTeam

# Like a Kubernetes namespace; two hyphens separate the team from the agent in namespaced IDs.
_NAME = re.compile(r"[a-z0-9](?:-?[a-z0-9]){0,62}")


def check_team_name(team: str, pointer: str) -> None:
    """Raise InvalidRequest unless the name is valid."""
    if not _NAME.fullmatch(team) or len(team) > 63:
        message = "A team's name must have lowercase letters, digits and single inner hyphens, at most 63."
        raise InvalidRequest(message, errors=[FieldError(pointer, "malformed", message)])


def check_may_publish(caller: Caller, team: str) -> None:
    """Raise PermissionDenied unless the caller is a publisher of the team or an administrator."""
    if caller.verdict(Action.AGENT_CONFIG_RULE).allowed:
        return
    row = PublishingTeam.objects.filter(name=team).first()
    if caller.principal_id is None or row is None or caller.name not in row.publishers:
        raise PermissionDenied(
            f"{caller.name} is not a publisher of {team[:80]!r}. An administrator can add it to the team.",
            action=Action.AGENT_CONFIG_PUBLISH.value,
        )


def hidden_teams(caller: Caller) -> list[str]:
    """Return the teams of organisations that the caller does not publish for; their documents are hidden."""
    if caller.verdict(Action.AGENT_CONFIG_RULE).allowed:
        return []
    organisations = organisations_of(caller)
    teams = PublishingTeam.objects.exclude(organisation__in=organisations)
    return list(teams.values_list("name", flat=True))


def check_may_see_all_teams(caller: Caller) -> None:
    """Raise PermissionDenied if the caller cannot see all teams, because bundles contain documents of all."""
    if hidden_teams(caller):
        raise PermissionDenied(
            "Bundles contain documents of organisations that you do not publish for.",
            action=Action.AGENT_CONFIG_RULE.value,
        )


def organisations_of(caller: Caller) -> set[str]:
    """Return the caller's organisations, and the empty one, which every caller sees."""
    own_teams = PublishingTeam.objects.filter(publishers__contains=[caller.name])
    return {"", *own_teams.values_list("organisation", flat=True)}


def get_team(name: str) -> PublishingTeam:
    """Return the team. Raises UnknownTeam."""
    team = PublishingTeam.objects.filter(name=name).first()
    if team is None:
        raise UnknownTeam(f"Team {name[:80]!r} does not exist.")
    return team


@transaction.atomic
def put_team(
    name: str,
    organisation: str,
    publishers: Sequence[str],
    *,
    actor: Actor,
    precondition: Precondition | None = None,
) -> tuple[PublishingTeam, bool]:
    """Set a team's organisation and publishers. Raises InvalidRequest for unknown principals."""
    check_team_name(name, "/name")
    _check_principals(publishers)
    row = PublishingTeam.objects.select_for_update().filter(name=name).first()
    check(precondition, row.version if row else None)
    principals = sorted(set(publishers))
    if row and (row.organisation, row.publishers) == (organisation, principals):
        return row, False
    before = _audit_entry(row) if row else None
    saved = row or PublishingTeam(name=name, version=0)
    saved.organisation, saved.publishers, saved.version = organisation, principals, saved.version + 1
    saved.save()
    audit.record(
        TEAM_CHANGED,
        "publishing_team",
        name,
        actor=actor,
        before=before,
        after=_audit_entry(saved),
        data={"team": name, "organisation": organisation},
    )
    return saved, row is None


def _check_principals(names: Sequence[str]) -> None:
    known_names = set(Principal.objects.filter(name__in=names).values_list("name", flat=True))
    unknown = [
        FieldError(f"/publishers/{index}", "unknown_principal", f"Unknown principal {name[:80]!r}.")
        for index, name in enumerate(names)
        if name not in known_names
    ]
    if unknown:
        raise InvalidRequest(unknown[0].message, errors=unknown)


def _audit_entry(row: PublishingTeam) -> dict[str, Any]:
    return {"name": row.name, "organisation": row.organisation, "publishers": row.publishers}
