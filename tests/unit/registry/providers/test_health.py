"""Health of providers: thresholds, hysteresis, leases, slots and conditions, as pure decisions."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.errors import InvalidProvider, NameTaken, ServiceTypeTaken
from registry.providers.conditions import ProviderStatus, advertised, type_conditions
from registry.providers.health import (
    Health,
    HealthPolicy,
    HealthRecord,
    after_probes,
    lease_end,
    unknown,
)
from registry.providers.registration import ProviderRegistration, check
from registry.providers.slots import RegisteredProvider, place

NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
LEASE = timedelta(seconds=90)
POLICY = HealthPolicy(failures=3, recoveries=2)
LETTERS = {"r": Health.READY, "u": Health.UNHEALTHY, "f": Health.UNAVAILABLE}


READY = HealthRecord(Health.READY)


def states_after(letters: str, record: HealthRecord = READY) -> str:
    """The states, as letters, after each probe."""
    states = []
    for letter in letters:
        record = after_probes(record, LETTERS[letter], policy=POLICY)
        states.append(next(key for key, state in LETTERS.items() if state is record.state))
    return "".join(states)


@pytest.mark.parametrize(
    ("probes", "states"),
    [
        ("ff", "rr"),
        ("fff", "rrf"),
        ("ffrff", "rrrrr"),
        ("u", "u"),
        ("ur", "uu"),
        ("urr", "uur"),
        ("fffr", "rrff"),
        ("fffrr", "rrffr"),
        ("fffu", "rrfu"),
        ("fffrfrfrfr", "rrffffffff"),
        ("uffrff", "uuuuuu"),
    ],
)
def test_states_after_probes(probes, states):
    assert states_after(probes) == states


def test_a_provider_that_was_never_probed_is_ready_after_one_good_answer():
    assert states_after("r", unknown(POLICY)) == "r"
    assert states_after("fff", unknown(POLICY)) == "uuf"


def test_probes_that_the_agent_has_counted_itself_count_at_once():
    ready = HealthRecord(Health.READY)

    assert after_probes(ready, Health.UNAVAILABLE, probes=3, policy=POLICY).state is Health.UNAVAILABLE
    assert after_probes(ready, Health.UNAVAILABLE, probes=2, policy=POLICY).state is Health.READY


@given(st.text("ruf", max_size=30), st.integers(1, 5), st.integers(1, 5))
def test_a_state_is_left_only_for_what_was_said_often_enough(letters, failures, recoveries):
    policy, record = HealthPolicy(failures, recoveries), HealthRecord(Health.READY)
    for at, letter in enumerate(letters):
        before, record = record, after_probes(record, LETTERS[letter], policy=policy)
        row = len(letters[: at + 1]) - len(letters[: at + 1].rstrip(letter))
        if record.state is not before.state:
            assert record.state is LETTERS[letter]
            assert row >= {"f": failures, "r": recoveries, "u": 1}[letter]
            assert not record.pending
        if not record.pending:
            assert after_probes(record, LETTERS[letter], policy=policy) == record


def test_a_lease_ends_a_lease_after_the_later_of_both_renewals():
    assert lease_end(NOW, None, lease=LEASE) == NOW
    assert lease_end(NOW, NOW, lease=LEASE) == NOW + LEASE
    assert lease_end(NOW + 2 * LEASE, NOW, lease=LEASE) == NOW + 2 * LEASE


VM = RegisteredProvider("p1", "vm-provider", "vm", holds=True, expired=False)
STORAGE = RegisteredProvider("p2", "disks", "storage", holds=True, expired=False)
DEAD = RegisteredProvider("p3", "old", "cluster", holds=True, expired=True)
FREE = RegisteredProvider("p4", "gone", "network", holds=False, expired=True)
ALL = [VM, STORAGE, DEAD, FREE]


@pytest.mark.parametrize(
    ("name", "requested", "service_type", "same", "released"),
    [
        ("new", None, "container", None, None),
        ("new", "p9", "container", None, None),
        ("vm-provider", None, "vm", VM, None),
        ("vm-provider", "p1", "vm", VM, None),
        ("vm-provider", None, "container", VM, None),
        ("new", None, "cluster", None, DEAD),
        ("old", None, "cluster", DEAD, None),
        ("new", None, "network", None, None),
        ("gone", None, "network", FREE, None),
        ("vm-provider", None, "cluster", VM, DEAD),
    ],
)
def test_a_registration_has_its_place(name, requested, service_type, same, released):
    placed = place(name, requested, service_type, ALL)

    assert (placed.same, placed.released) == (same, released)


def test_a_type_that_is_served_is_refused_in_the_words_of_the_contract():
    with pytest.raises(ServiceTypeTaken) as caught:
        place("other", None, "vm", ALL)

    assert caught.value.detail == "service type 'vm' is already served by provider 'vm-provider'"
    assert caught.value.members == {"holder": {"id": "p1", "name": "vm-provider"}}
    with pytest.raises(ServiceTypeTaken):
        place("disks", None, "vm", ALL)


@pytest.mark.parametrize(("name", "requested"), [("vm-provider", "p9"), ("vm-provider", "p2"), ("new", "p1")])
def test_a_name_keeps_its_id_and_an_id_its_name(name, requested):
    with pytest.raises(NameTaken):
        place(name, requested, "container", ALL)


def test_the_holder_decides_over_its_type_and_an_unavailable_one_withholds_it():
    providers = [
        ProviderStatus("vm", "old", Health.UNAVAILABLE, holds=False, reason="lease", since=NOW),
        ProviderStatus("vm", "new", Health.READY, holds=True, reason="ok", since=NOW - LEASE),
        ProviderStatus("storage", "first", Health.UNAVAILABLE, holds=False, reason="a", since=NOW - LEASE),
        ProviderStatus("storage", "last", Health.UNAVAILABLE, holds=False, reason="b", since=NOW),
        ProviderStatus("cluster", "c", Health.UNHEALTHY, holds=True, reason="slow", since=NOW),
    ]

    conditions = type_conditions(providers)

    assert [
        (condition["service_type"], condition["provider"], condition["status"]) for condition in conditions
    ] == [
        ("cluster", "c", "unhealthy"),
        ("storage", "last", "unavailable"),
        ("vm", "new", "ready"),
    ]
    assert advertised(["vm", "storage", "cluster", "network"], conditions) == ["vm", "cluster", "network"]


@pytest.mark.parametrize(
    ("change", "provider_id", "pointers"),
    [
        ({}, None, []),
        ({}, "a-1", []),
        ({}, "A", ["?id"]),
        ({}, "-a", ["?id"]),
        ({}, "a" * 64, ["?id"]),
        ({"schema_version": "1"}, None, ["/schema_version"]),
        ({"schema_version": "v1gamma"}, None, ["/schema_version"]),
        ({"endpoint": "kubevirt"}, None, ["/endpoint"]),
        ({"endpoint": "http://"}, None, ["/endpoint"]),
        ({"endpoint": "http://a:99999"}, None, ["/endpoint"]),
        ({"endpoint": "http://[a"}, None, ["/endpoint"]),
        ({"endpoint": "ftp://a", "schema_version": "x"}, "_", ["?id", "/schema_version", "/endpoint"]),
    ],
)
def test_what_cannot_be_is_named_field_by_field(change, provider_id, pointers):
    body = {"name": "p", "endpoint": "http://a:1/x", "service_type": "vm", "schema_version": "v1alpha1"}

    states_seen = []
    try:
        check(ProviderRegistration(**{**body, **change}), provider_id)
    except InvalidProvider as error:
        states_seen = [error.pointer for error in error.errors]

    assert states_seen == pointers
