"""Two teams with an agent each, an agent of the platform, and callers limited to the first team."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.test import Client

from controlplane.access import principals, role_bindings
from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.team_models import Team
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, AGENT, Api

# What stands in every name of a thing of the second team, of the platform, and of the first team.
OTHER, PLATFORM, OURS = "zqother", "zqplatform", "zqours"
BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}


@dataclass(frozen=True, slots=True)
class OwnedAgent:
    """An agent with a token of its own, and a provider."""

    id: str
    name: str
    token: str

    @property
    def api(self) -> Api:
        return Api(self.token)


@dataclass(frozen=True, slots=True)
class TwoTeams:
    ours: Team
    other: Team
    our_agent: OwnedAgent
    other_agent: OwnedAgent
    platform_agent: OwnedAgent


def make_two_teams(admin: Api) -> TwoTeams:
    """Make the teams and their agents. The first environment has agents of all three owners."""
    ours, other = (create_team(slug, actor=ACTOR) for slug in (OURS, OTHER))
    agents = [
        join_agent(admin, f"{word}-1", team, environment="shared")
        for word, team in ((OURS, OURS), (OTHER, OTHER), (PLATFORM, None))
    ]
    join_agent(admin, f"{OTHER}-2", OTHER, environment=f"{OTHER}-env")
    return TwoTeams(ours, other, *agents)


def join_agent(admin: Api, name: str, team: str | None, **fields: Any) -> OwnedAgent:
    """Let an agent join with a token of the team, and register a provider."""
    invitation = {"name": f"{name}-join", "name_pattern": name, "team": team}
    secret = done(admin.post("join-tokens", invitation))["token"]
    task_types = [{"name": f"{name}_task", "version": "1"}, {"name": "common", "version": f"{name}-v"}]
    body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}", "task_types": task_types, **fields}
    joined = done(Api(secret).post("agents:join", body))
    agent = OwnedAgent(joined["agent"]["agent_id"], name, joined["token"])
    provider = {"name": f"{name}-provider", "endpoint": "http://x:1/vms", "service_type": "vm"}
    done(agent.api.post(f"agents/{agent.id}/providers?id=p1", {**provider, "schema_version": "v1"}))
    return agent


def done(answer: Any) -> Any:
    assert answer.status_code < 300, answer.content
    return answer.json() if answer.content else None


def member_of(team: Team, *roles: Role, name: str = "") -> Api:
    """A caller whose roles are limited to the team's objects."""
    principal = limited_principal(team, *roles, name=name)
    _, secret = principals.create_token(principal, name="test", expires_at=None, actor=ACTOR)
    return Api(secret)


def limited_principal(
    team: Team, *roles: Role, name: str = "", kind: PrincipalKind = PrincipalKind.SERVICE
) -> Principal:
    name = name or f"{team.slug}-{'-'.join(roles)}"
    principal = principals.create_principal(name, kind=kind, actor=ACTOR)
    for role in roles:
        role_bindings.bind_role(principal, role, Scope(), actor=ACTOR, terms=BindingTerms(owned_by=team))
    return principal


def browser_of(team: Team, *roles: Role) -> Client:
    """A browser of a person whose roles are limited to the team's objects."""
    client = Client()
    client.force_login(limited_principal(team, *roles, name="person", kind=PrincipalKind.PERSON))
    return client
