"""Who may do what, and what a token looks like."""

import itertools
import re

import pytest

from controlplane.access.tokens import Prefix, digest, hint, looks_like_token, new_token
from controlplane.identity.grants import Grant, decide, scopes_where
from controlplane.identity.roles import ALLOWED, INSTALLATION_WIDE, Action, Role
from controlplane.scopes import Scope

ADS = Scope(project="ads")


def test_every_role_has_its_actions():
    assert set(ALLOWED) == set(Role)


def test_an_administrator_may_everything_everywhere():
    for action in Action:
        assert decide([Grant(Role.ADMIN, Scope())], action, ADS).allowed


@pytest.mark.parametrize("action", list(Action))
def test_without_a_grant_only_ones_own_affairs_are_allowed(action):
    assert decide([], action, Scope()).allowed == (
        action in (Action.SELF_READ, Action.SELF_WRITE, Action.AGENT_JOIN)
    )


def test_a_viewer_never_writes():
    writes = {action for action in Action if action.endswith((".write", ".register", ".heartbeat"))}

    assert not writes & ALLOWED[Role.VIEWER]


def test_a_role_counts_at_its_scope_and_below_and_nowhere_else():
    grants = [Grant(Role.EDITOR, ADS)]
    scopes = {
        ADS: True,
        Scope(project="ads", domain="prod"): True,
        Scope(): False,
        Scope(domain="prod"): False,
        Scope(project="other"): False,
    }

    for scope, allowed in scopes.items():
        assert decide(grants, Action.OVERRIDE_WRITE, scope).allowed == allowed


def test_what_has_no_project_needs_a_role_over_everything():
    for role, action in itertools.product(Role, INSTALLATION_WIDE):
        assert not decide([Grant(role, ADS)], action, ADS).allowed


def test_a_refusal_names_the_roles_that_would_do():
    verdict = decide([Grant(Role.VIEWER, Scope())], Action.OVERRIDE_WRITE, ADS)

    assert "editor, admin" in verdict.reason


def test_lists_show_the_scopes_that_the_grants_name():
    grants = [Grant(Role.EDITOR, ADS), Grant(Role.AGENT, Scope())]

    assert scopes_where(grants, Action.OVERRIDE_READ) == [ADS]


@pytest.mark.parametrize("prefix", list(Prefix))
def test_a_token_is_recognised_and_never_repeats(prefix):
    first, other = new_token(prefix), new_token(prefix)

    assert first != other
    assert looks_like_token(first)
    assert re.fullmatch(r"cp_[a-z]{3}_[0-9A-Za-z]{49}", first)
    assert len(digest(first)) == 32
    assert hint(first) in first
    assert len(hint(first)) < 12


def test_a_typing_error_in_a_token_is_seen_without_asking_the_database():
    token = new_token(Prefix.PERSONAL)
    wrong = token[:20] + ("a" if token[20] != "a" else "b") + token[21:]

    assert not looks_like_token(wrong)
    assert not looks_like_token(token[:-1])
    assert not looks_like_token("é" * len(token))
    assert not looks_like_token("")
