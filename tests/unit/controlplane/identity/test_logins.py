"""Which actions need a recent login: a table, and the challenge that says so."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest

from controlplane.api.challenges import challenge_for
from controlplane.errors import NotAuthenticated, PermissionDenied, StepUpRequired
from controlplane.identity.callers import Caller
from controlplane.identity.grants import Grant
from controlplane.identity.logins import MACHINE, Login, StepUpPolicy, is_recent, needs_step_up
from controlplane.identity.roles import Action, Role
from controlplane.scopes import Scope

NOW = datetime(2026, 11, 22, 12, tzinfo=UTC)
POLICY = StepUpPolicy(timedelta(minutes=15))
OFF = StepUpPolicy(timedelta(0))
MFA = StepUpPolicy(timedelta(minutes=15), acr_values=("mfa", "gold"))
PRODUCTION = Scope(domain="production")
PROTECTED = StepUpPolicy(timedelta(minutes=15), protected=(PRODUCTION,))


def login(minutes: float, **details: object) -> Login:
    return Login(auth_time=NOW - timedelta(minutes=minutes), **details)


@pytest.mark.parametrize(
    ("subject", "policy", "expected"),
    [
        (login(0), POLICY, True),
        (login(15), POLICY, True),
        (login(15.01), POLICY, False),
        (login(600), OFF, True),
        (MACHINE, POLICY, True),
        (MACHINE, MFA, True),
        # A password of ours has no acr; a provider must state one.
        (login(1), MFA, True),
        (login(1, identity="https://idp#1"), MFA, False),
        (login(1, identity="https://idp#1", acr="gold"), MFA, True),
        (login(1, identity="https://idp#1", amr=("pwd", "mfa")), MFA, True),
        (login(1, identity="https://idp#1", acr="silver", amr=("pwd",)), MFA, False),
        (login(16, identity="https://idp#1", acr="gold"), MFA, False),
    ],
)
def test_a_login_is_recent_and_strong_enough_or_not(subject, policy, expected):
    assert is_recent(subject, NOW, policy) is expected


@pytest.mark.parametrize(
    ("action", "scope", "expected"),
    [
        (Action.ACCESS_WRITE, Scope(), True),
        (Action.OVERRIDE_FORCE, Scope("development"), True),
        (Action.RAIL_WRITE, Scope(), True),
        (Action.OVERRIDE_READ, PRODUCTION, False),
        (Action.AGENT_WRITE, Scope(), False),
        (Action.OVERRIDE_WRITE, Scope("development"), False),
        (Action.OVERRIDE_WRITE, PRODUCTION, True),
        (Action.OVERRIDE_WRITE, Scope("production", "p", "w"), True),
        # What is above a protected scope changes it too.
        (Action.OVERRIDE_WRITE, Scope(), True),
        (Action.OVERRIDE_WRITE, Scope(project="p"), True),
        (Action.PROJECT_WRITE, Scope(project="p"), True),
    ],
)
def test_sensitive_actions_and_changes_of_protected_scopes_need_a_recent_login(action, scope, expected):
    assert needs_step_up(action, scope, login(60), NOW, PROTECTED) is expected
    assert not needs_step_up(action, scope, login(1), NOW, PROTECTED)


def caller(policy: StepUpPolicy | None) -> Caller:
    return Caller(UUID(int=1), "ann", "person", (Grant(Role.ADMIN, Scope()),), step_up=policy)


def test_a_caller_with_an_old_login_may_do_everything_else():
    stale = caller(POLICY)

    stale.require(Action.OVERRIDE_WRITE)
    stale.require_recent_login_for(100)
    with pytest.raises(StepUpRequired):
        stale.require(Action.ACCESS_WRITE)
    with pytest.raises(StepUpRequired):
        stale.require_recent_login_for(101)
    with pytest.raises(StepUpRequired):
        stale.require_for_some_owner(Action.ACCESS_WRITE)
    caller(None).require(Action.ACCESS_WRITE)
    caller(None).require_recent_login_for(101)


def test_a_missing_permission_is_said_first():
    nobody = Caller(UUID(int=1), "bob", "person", (), step_up=POLICY)

    with pytest.raises(PermissionDenied) as refused:
        nobody.require(Action.ACCESS_WRITE)

    assert type(refused.value) is PermissionDenied


def test_the_challenge_names_the_longest_age_and_the_accepted_strengths():
    challenge = challenge_for(MFA.refusal('"x"'))

    assert challenge == (
        'Bearer error="insufficient_user_authentication", '
        "error_description=\"'x' requires a login within the last 15 minutes with mfa or gold. Log in again,"
        ' then repeat the request.", max_age="900", acr_values="mfa gold"'
    )
    assert "acr_values" not in challenge_for(POLICY.refusal("x"))
    assert "insufficient" not in challenge_for(NotAuthenticated("x"))
