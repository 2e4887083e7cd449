"""Permits of fast heartbeats by roles of teams, operators' own roles and roles that end."""

from __future__ import annotations

import threading
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.db import connection, connections, transaction
from django.db.models.functions import Now

from controlplane.access import principals, role_bindings
from controlplane.access.models import CustomRole, Principal, PrincipalKind, RoleBinding, Token
from controlplane.access.role_bindings import BindingTerms
from controlplane.access.team_models import Membership, Team
from controlplane.access.teams.memberships import add_member, remove_member
from controlplane.access.teams.teams import create_team
from controlplane.access.tokens import digest
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.agents.models import Agent, Lease
from registry.heartbeats.permits import give_permit
from tests.support.api_client import ACTOR, AGENT, Api
from tests.support.two_teams import BEAT, done
from tests.support.waiting import until

ROLE_ACTIONS = ["agent.register", "agent.heartbeat", "agent.read"]


class Sender:
    """A principal in a team, with a token and an agent that it registered for the team."""

    def __init__(self) -> None:
        self.team = create_team("zqours", actor=ACTOR)
        self.principal = principals.create_principal("sender", kind=PrincipalKind.SERVICE, actor=ACTOR)
        _, self.secret = principals.create_token(self.principal, name="t", expires_at=None, actor=ACTOR)
        self.token = Token.objects.get(digest=digest(self.secret))
        self.api = Api(self.secret)

    def bind(
        self, holder: Team | Principal, role: Role | CustomRole = Role.AGENT, **terms: object
    ) -> RoleBinding:
        limits = BindingTerms(owned_by=self.team, **terms)  # type: ignore[arg-type]
        return role_bindings.bind_role(holder, role, Scope(), actor=ACTOR, terms=limits)

    def start(self) -> Agent:
        agent_id = done(self.api.post("agents", AGENT))["agent_id"]
        done(self.api.put(f"agents/{agent_id}/heartbeat", BEAT))
        self.agent = Agent.objects.get(id=agent_id)
        assert self.permit() == self.token.digest
        return self.agent

    def permit(self) -> bytes | None:
        stored = Lease.objects.get(agent_id=self.agent.id).token_digest
        return None if stored is None else bytes(stored)

    def may_beat(self) -> bool:
        return self.api.put(f"agents/{self.agent.id}/heartbeat", BEAT).status_code == 200


@pytest.fixture
def sender(db: None) -> Sender:
    return Sender()


def test_a_role_of_the_team_gives_a_permit_and_leaving_the_team_ends_it(sender):
    add_member(sender.team, sender.principal, actor=ACTOR)
    sender.bind(sender.team)
    sender.start()

    remove_member_unchecked(sender)

    assert sender.permit() is None
    assert not sender.may_beat()
    assert sender.permit() is None


def remove_member_unchecked(sender: Sender) -> None:
    """As remove_member does, in a database without an administrator."""
    Membership.objects.filter(team=sender.team, principal=sender.principal).delete()


def test_a_role_removed_from_the_team_ends_the_permits_of_its_members(sender):
    add_member(sender.team, sender.principal, actor=ACTOR)
    binding = sender.bind(sender.team)
    sender.start()

    RoleBinding.objects.filter(id=binding.id).delete()

    assert sender.permit() is None
    assert not sender.may_beat()


@pytest.mark.parametrize("by_team", [True, False])
def test_a_change_of_an_operators_own_role_ends_permits(sender, by_team):
    add_member(sender.team, sender.principal, actor=ACTOR)
    role = CustomRole.objects.create(name="beater", actions=ROLE_ACTIONS)
    sender.bind(sender.team if by_team else sender.principal, role)
    sender.start()

    CustomRole.objects.filter(id=role.id).update(actions=["agent.read"])

    assert sender.permit() is None
    assert not sender.may_beat()


def test_a_permit_ends_with_the_first_role_that_ends(sender):
    binding = sender.bind(sender.principal, expires_at=Now() + timedelta(hours=1))
    sender.start()

    end = Lease.objects.get(agent_id=sender.agent.id).token_expires_at

    assert end == RoleBinding.objects.get(id=binding.id).expires_at


def test_a_new_owner_ends_the_permit(sender):
    sender.bind(sender.principal)
    agent = sender.start()
    other = create_team("zqother", actor=ACTOR)

    Agent.objects.filter(id=agent.id).update(team=other)

    assert sender.permit() is None
    assert not sender.may_beat()
    give_permit(agent, sender.token)
    assert sender.permit() is None


def test_a_token_whose_scopes_leave_out_heartbeats_gets_no_permit(sender):
    sender.bind(sender.principal)
    agent = sender.start()
    Lease.objects.filter(agent=agent).update(token_digest=None)

    Token.objects.filter(id=sender.token.id).update(scopes=["read"])
    give_permit(agent, sender.token)

    assert sender.permit() is None


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("loss", ["membership", "role of the team", "own role", "owner"])
def test_a_permit_given_while_a_right_is_lost_does_not_outlive_the_loss(loss):
    """The loss is not committed yet when the permit is asked for, so that one waits for the other."""
    sender = Sender()
    add_member(sender.team, sender.principal, actor=ACTOR)
    role = CustomRole.objects.create(name="beater", actions=ROLE_ACTIONS)
    binding = sender.bind(sender.team, role)
    agent = sender.start()
    other = create_team("zqother", actor=ACTOR)
    losses: dict[str, Callable[[], object]] = {
        "membership": lambda: remove_member_unchecked(sender),
        "role of the team": lambda: RoleBinding.objects.filter(id=binding.id).delete(),
        "own role": lambda: CustomRole.objects.filter(id=role.id).update(actions=["agent.read"]),
        "owner": lambda: Agent.objects.filter(id=agent.id).update(team=other),
    }

    def ask() -> None:
        give_permit(agent, sender.token)
        connections.close_all()

    thread = threading.Thread(target=ask)
    with transaction.atomic():
        losses[loss]()
        thread.start()
        until(lambda: is_somebody_waiting() or not thread.is_alive())
    thread.join(60)

    assert not thread.is_alive()
    assert sender.permit() is None


def is_somebody_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return cursor.fetchone()[0] > 0


def test_removal_by_name_ends_the_permit_too(api, sender):
    add_member(sender.team, sender.principal, actor=ACTOR)
    sender.bind(sender.team)
    sender.start()

    remove_member(sender.team, sender.principal, actor=ACTOR)

    assert sender.permit() is None
