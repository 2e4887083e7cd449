"""Approval policies as decisions: the strictest holds, and who may do without."""

from __future__ import annotations

from dataclasses import replace
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.scopes import Scope
from overrides.approvals.decisions import (
    NO_CONSENT,
    Bypass,
    Consent,
    Policy,
    policies_over,
    refusing,
    required_by,
    sentence,
    unsatisfied,
)
from overrides.approvals.request_states import RequestState, required_approvals, state_of

NAMES = ("", "a", "b")
scopes = st.builds(Scope, st.sampled_from(NAMES), st.sampled_from(NAMES))
policies = st.builds(Policy, st.uuids(), scopes, st.integers(1, 5), st.just("ada"))
POLICY = Policy(UUID(int=1), Scope("production"), 2, "ada")


@pytest.mark.parametrize(
    ("changed", "holds"),
    [
        (Scope("production"), True),
        (Scope("production", "flytesnacks"), True),
        (Scope("production", "flytesnacks", "train", "nightly"), True),
        (Scope(), False),
        (Scope("", "flytesnacks"), False),
        (Scope("staging", "flytesnacks"), False),
    ],
)
def test_a_policy_holds_its_scope_and_what_is_below(changed, holds):
    assert bool(policies_over([POLICY], [changed])) is holds


@given(st.lists(policies, max_size=5), st.lists(scopes, max_size=3))
def test_the_strictest_policy_on_the_path_decides(every, changed):
    holding = policies_over(every, changed)

    numbers = [policy.approvals for policy in every if any(policy.scope.covers(at) for at in changed)]
    assert required_by(holding) == max(numbers, default=0)
    assert [policy.approvals for policy in holding] == sorted(numbers, reverse=True)


@given(st.lists(policies, max_size=5), scopes, policies)
def test_another_policy_never_makes_a_change_easier(every, changed, another):
    assert required_by(policies_over([*every, another], [changed])) >= required_by(
        policies_over(every, [changed])
    )


@given(st.lists(policies, max_size=5), st.integers(0, 6))
def test_enough_approvals_satisfy_all_policies_and_no_fewer_do(every, approvals):
    is_refused = bool(refusing(every, Consent(approvals)))
    assert is_refused is (approvals < required_by(every))


@given(st.lists(policies, max_size=5), scopes)
def test_a_bypass_reaches_only_policies_at_and_below_its_scopes(every, at):
    left = refusing(every, Consent(bypass=Bypass("fire", (at,))))
    assert set(left) == {policy for policy in every if not at.covers(policy.scope)}


def test_a_bypass_is_dropped_where_it_does_not_count():
    consent = Consent(1, Bypass("fire", (Scope(),)))
    assert consent.without_bypass() == Consent(1)
    assert unsatisfied([POLICY], NO_CONSENT) == (POLICY,)


def test_the_sentence_says_who_where_how_many_and_how_many_there_are():
    start = "Changes of overrides at domain=production need"
    assert sentence(POLICY) == f"{start} 2 approvals by a policy of ada."
    assert sentence(POLICY, 1) == f"{start} 2 approvals by a policy of ada; it has 1."
    assert sentence(replace(POLICY, approvals=1)) == f"{start} 1 approval by a policy of ada."


@pytest.mark.parametrize(
    ("approvals", "required", "state"),
    [
        (0, 0, RequestState.OPEN),
        (1, 0, RequestState.APPROVED),
        (1, 2, RequestState.OPEN),
        (2, 2, RequestState.APPROVED),
        (3, 2, RequestState.APPROVED),
    ],
)
def test_a_change_request_is_approved_by_at_least_one(approvals, required, state):
    assert state_of(approvals, required) is state
    assert required_approvals(required) == max(required, 1)
