"""Patterns of names, terms of invitations, and states of agents."""

from __future__ import annotations

import pytest

from controlplane.errors import InvalidRequest
from controlplane.formats.wildcards import matches
from registry.agents.states import TRANSITIONS, Cost, State, after_registration
from registry.joining.registration import Registration
from registry.joining.terms import JoinTerms


@pytest.mark.parametrize(
    ("pattern", "name", "fits"),
    [
        ("*", "anything", True),
        ("eu-*", "eu-1", True),
        ("eu-*", "us-1", False),
        ("eu-1", "eu-1", True),
        ("eu-1", "eu-12", False),
        ("*-gpu-*", "eu-gpu-7", True),
        ("e.-1", "eu-1", False),
        ("a*", "a\nb", True),
    ],
)
def test_name_patterns(pattern, name, fits):
    assert matches(pattern, name) == fits


def test_an_invitation_says_all_that_it_does_not_admit():
    registration = Registration("us-1", "dev", ("vm", "gpu"), Cost.LOW, "dcm.agent.x", None)

    with pytest.raises(InvalidRequest) as refused:
        JoinTerms("eu-*", "prod", frozenset({"vm"})).check(registration)

    assert [error.pointer for error in refused.value.errors] == ["/name", "/environment", "/service_types"]
    assert JoinTerms("*").check(registration) is None


def test_the_table_of_transitions_has_no_dead_end_but_the_last():
    for state, onward in TRANSITIONS.items():
        assert state not in onward
        assert State.RETIRED in onward or state is State.RETIRED
    assert State.UNAVAILABLE not in TRANSITIONS[State.RETIRED]
    assert State.UNAVAILABLE not in TRANSITIONS[State.REGISTERED]


@pytest.mark.parametrize(
    ("old", "initial", "draining", "new"),
    [
        (State.READY, State.READY, False, State.READY),
        (State.UNAVAILABLE, State.READY, True, State.DRAINING),
        (State.REGISTERED, State.READY, False, State.REGISTERED),
        (State.READY, State.REGISTERED, False, State.REGISTERED),
        (State.RETIRED, State.READY, False, State.READY),
    ],
)
def test_states_after_a_registration(old, initial, draining, new):
    assert after_registration(old, initial, draining=draining) is new
