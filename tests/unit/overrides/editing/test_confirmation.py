"""What a change must be confirmed with, and what confirms it."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.scopes import Scope
from overrides.editing.confirmation import PATTERN, Effect, confirmation_for, digest_of, objection_to
from overrides.editing.removal_guard import Removals, needs_confirmation
from overrides.resolution.addresses import Address

DIGEST = digest_of(["a"])


def removals(count: int, stored: int, *, expected: bool = False) -> Removals:
    addresses = tuple(Address("task_resource", Scope("d", "p", f"w{number}")) for number in range(count))
    return Removals(addresses, stored, what="overrides that git manages", expected=expected)


def effect(affected: int = 0, *, most: int = 0, removed: int = 0, stored: int = 100) -> Effect:
    return Effect(affected, DIGEST, most, removals(removed, stored))


@pytest.mark.parametrize(
    ("change", "confirm"),
    [
        (effect(5), None),
        (effect(5, most=5), None),
        (effect(6, most=5), "6"),
        (effect(6, removed=19), None),
        (effect(6, removed=20), DIGEST),
        (effect(6, most=5, removed=20), DIGEST),
        (effect(6, removed=20, stored=200), None),
        (effect(0, removed=1, stored=1), DIGEST),
    ],
)
def test_what_a_change_must_be_confirmed_with(change, confirm):
    required = confirmation_for(change)

    assert (required.confirm if required else None) == confirm


def test_the_reason_names_both_the_removal_and_the_reach():
    required = confirmation_for(effect(6, most=5, removed=20))

    assert required is not None
    assert required.reason == (
        "This removes 20 of the 100 overrides that git manages, and changes what applies at 6 scopes."
    )


@given(
    st.integers(0, 50),
    st.integers(0, 50),
    st.integers(0, 120),
    st.sampled_from(["", "3", "50", DIGEST, digest_of(["b"])]),
)
def test_only_the_digest_or_a_sufficient_number_confirms(affected, most, removed, given_confirm):
    change = effect(affected, most=most, removed=removed, stored=max(removed, 100))
    required, objection = confirmation_for(change), objection_to(change, given_confirm)

    if given_confirm == DIGEST:
        assert objection is None
    elif given_confirm not in ("", str(affected)):
        assert objection is not None
    elif required is None:
        assert objection is None
    else:
        assert (objection is None) == (given_confirm == required.confirm)
    if objection is not None:
        # What the objection names is accepted.
        assert objection_to(change, objection.confirm) is None


def test_a_digest_depends_on_every_part_and_has_the_form_of_the_parameter():
    assert len({digest_of(parts) for parts in ([], ["a"], ["a", "b"], ["ab"], ["b", "a"])}) == 5
    assert re.match(PATTERN, DIGEST)
    assert re.match(PATTERN, "17")


@pytest.mark.parametrize(("count", "asks"), [(2, False), (19, False), (20, True)])
def test_an_expected_removal_asks_only_if_it_is_large(count, asks):
    assert needs_confirmation(removals(count, count, expected=True)) is asks
    assert needs_confirmation(removals(count, count)) is True
