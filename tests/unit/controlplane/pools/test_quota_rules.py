"""Rules of quotas: their names, what grows, and which growth is too much."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.pools.ledger import Counts, Ledger, Limits, Reason
from controlplane.pools.quota_rules import (
    Added,
    Countable,
    Growth,
    Owner,
    Quota,
    find_excess,
    growth_of,
    quota_named,
    sentence,
)
from controlplane.pools.terms import Limit, PoolTerms
from controlplane.scopes import Scope

CUPS = Countable("cups", "cups", "SELECT", "Drink.", "cup", Owner.TEAM, has_scopes=True)
ALL, OF_ML = Quota(CUPS), Quota(CUPS, "ml")
ML, DATA = Scope("prod", "ml"), Scope("prod", "data")
SCOPES = (Scope(), Scope("prod"), Scope(project="ml"), ML, DATA, Scope("prod", "ml", "train"))


def excess(added: list[Added], used: dict[Scope, int], *limits: Limit, capacity: int = 5, **terms: object):
    """Return the limit that is exceeded once `added` is there too; used: before."""
    growth = growth_of(ALL, added)
    after = {scope: used.get(scope, 0) for scope in (*SCOPES, *used)}
    for item in added:
        for rung in item.scope.ladder():
            after[rung] = after.get(rung, 0) + item.units
    ledger = Ledger({scope: Counts(units) for scope, units in after.items()})
    return find_excess(PoolTerms(capacity, **terms), Limits.of(limits), ledger, growth)


@pytest.mark.parametrize(
    ("name", "countable", "owner"),
    [
        ("quota:agents", "agents", ""),
        ("quota:agents:ml", "agents", "ml"),
        ("quota:resource-requests:prod:eu", "resource-requests", "prod:eu"),
        ("quota:override-documents", "override-documents", ""),
    ],
)
def test_a_reserved_name_is_a_quota(name, countable, owner):
    quota = quota_named(name)
    assert quota is not None
    assert (quota.countable.name, quota.owner) == (countable, owner)


@pytest.mark.parametrize(
    "name", ["agents", "quota:", "quota:agent", "my-quota:agents", "quota:override-documents:ml"]
)
def test_other_names_are_no_quotas(name):
    assert quota_named(name) is None


def test_a_quota_of_an_owner_counts_what_is_the_owners():
    added = [Added("ml", ML), Added("ML"), Added("data", DATA), Added()]
    assert growth_of(ALL, added).net[Scope()] == 4
    assert growth_of(OF_ML, added).net[Scope()] == 2
    assert CUPS.quota_names(["ml", "ML", ""]) == ["quota:cups", "quota:cups:ml"]


def test_what_removes_as_much_as_it_adds_is_no_growth():
    assert growth_of(ALL, [Added(scope=ML), Added(scope=DATA, units=-1)]) == Growth(
        {Scope(project="ml"): 1, ML: 1}, frozenset({ML})
    )


def test_the_last_unit_fits_and_the_next_does_not():
    assert excess([Added()], {Scope(): 4}) is None
    found = excess([Added(units=2)], {Scope(): 4})
    assert found is not None
    assert (found.reason, found.cap, found.used) == (Reason.CAPACITY, 5, 4)


def test_a_cap_of_a_scope_holds_for_the_scope_alone():
    cap, used = (
        Limit(Scope(project="ml"), cap=1),
        {Scope(): 1, Scope("prod"): 1, Scope(project="ml"): 1, ML: 1},
    )
    found = excess([Added(scope=ML)], used, cap)
    assert found is not None
    assert (found.scope, found.cap, found.used) == (Scope(project="ml"), 1, 1)
    assert excess([Added(scope=DATA)], used, cap) is None


def test_above_a_lowered_limit_replacing_passes_and_growing_does_not():
    used = {Scope(): 9, ML: 5, DATA: 4}
    assert excess([Added(scope=ML), Added(scope=DATA, units=-1)], used) is None
    assert excess([Added(scope=ML)], used) is not None


def test_a_closed_quota_accepts_nothing():
    found = excess([Added()], {}, is_open=False)
    assert found is not None
    assert "closed" in sentence(ALL, "quota:cups", found, 1)


def test_units_that_are_guaranteed_to_others_are_kept_for_them():
    guarantee = Limit(Scope(project="ml"), guaranteed=2)
    used = {Scope(): 3, DATA: 3, Scope(project="data"): 3}
    found = excess([Added(scope=DATA)], used, guarantee)
    assert found is not None
    assert found.reason is Reason.GUARANTEED
    assert "guarantees all but 3" in sentence(ALL, "quota:cups", found, 1)
    assert excess([Added(scope=ML)], used, guarantee) is None


def test_the_owed_scope_gets_its_units_above_a_lowered_capacity_never():
    assert excess([Added(scope=ML)], {Scope(): 5}, Limit(Scope(project="ml"), guaranteed=2)) is not None


def test_the_sentence_says_what_how_many_and_what_next():
    found = excess([Added(units=3)], {Scope(): 4})
    assert found is not None
    assert sentence(ALL, "quota:cups", found, 3) == (
        "This would exceed the quota quota:cups: 4 of 5 cups exist, and 3 more would be created. Drink."
        " Or ask an operator to raise the quota."
    )


additions = st.lists(
    st.builds(Added, st.sampled_from(["", "ml", "data"]), st.sampled_from(SCOPES), st.integers(-3, 3)),
    max_size=8,
)


@given(additions)
def test_owners_and_the_rest_add_up_to_the_whole(added):
    """Whatever is added, the net of all owners together is that of the installation."""
    net = sum(item.units for item in added)
    assert growth_of(ALL, added).net.get(Scope(), 0) == max(net, 0)
    by_owner = {owner: growth_of(Quota(CUPS, owner), added).net.get(Scope(), 0) for owner in ("ml", "data")}
    for owner, units in by_owner.items():
        assert units == max(sum(item.units for item in added if item.owner == owner), 0)


@given(additions, st.integers(0, 8), st.integers(0, 8))
def test_what_passes_is_within_the_limit_and_what_is_refused_is_not(added, before, capacity):
    net = sum(item.units for item in added)
    refused = excess(added, {Scope(): before}, capacity=capacity) is not None
    assert refused == (net > 0 and before + net > capacity)
