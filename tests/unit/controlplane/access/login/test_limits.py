"""Whose attempt is it, how often may it be made, and for how long does a token live? Pure decisions."""

from __future__ import annotations

from ipaddress import ip_network

import pytest
from django.contrib.auth.forms import UsernameField
from hypothesis import given
from hypothesis import strategies as st

from controlplane.access.attempt_counters import LocalCounters
from controlplane.access.login.limits import Attempt, exceeded, limits_of, normalized_name
from controlplane.api.rate_limits import SPREAD_SECONDS, RateUse, seconds_left
from controlplane.web.client_address import client_address, source_of

PROXIES = [ip_network("10.0.0.0/8"), ip_network("fd00::/8")]


@pytest.mark.parametrize(
    ("peer", "forwarded_for", "client"),
    [
        ("192.0.2.1", "", "192.0.2.1"),
        # Nobody else's header counts.
        ("192.0.2.1", "198.51.100.7", "192.0.2.1"),
        ("10.0.0.1", "198.51.100.7", "198.51.100.7"),
        # What the client itself wrote is further left.
        ("10.0.0.1", "203.0.113.9, 198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "203.0.113.9, 198.51.100.7, 10.0.0.2", "198.51.100.7"),
        ("10.0.0.1", "10.0.0.3, 10.0.0.2", "10.0.0.3"),
        ("10.0.0.1", "198.51.100.7:4711", "198.51.100.7"),
        ("fd00::1", "[2001:db8::7]:4711", "2001:db8::7"),
        ("10.0.0.1", "::ffff:198.51.100.7", "198.51.100.7"),
        ("::ffff:10.0.0.1", "198.51.100.7", "198.51.100.7"),
        ("10.0.0.1", "unknown", "10.0.0.1"),
        ("10.0.0.1", "198.51.100.7, for=evil", "10.0.0.1"),
        ("10.0.0.1", ",,,", "10.0.0.1"),
        ("", "198.51.100.7", ""),
    ],
)
def test_the_address_is_the_last_that_no_trusted_proxy_has(peer, forwarded_for, client):
    assert client_address(peer, forwarded_for, PROXIES) == client


@given(st.text(max_size=60))
def test_without_trusted_proxies_no_header_changes_the_address(forwarded_for):
    assert client_address("192.0.2.1", forwarded_for, []) == "192.0.2.1"


def test_a_network_of_ipv6_is_one_source():
    assert source_of("2001:db8:1:2::1") == source_of("2001:db8:1:2:ffff::9") != source_of("2001:db8:1:3::1")
    assert source_of("192.0.2.1") != source_of("192.0.2.2")


@given(st.text(min_size=1, max_size=60).filter(lambda text: "\0" not in text and text.strip()))
def test_the_counted_name_is_the_name_that_the_form_looks_up(typed):
    looked_up = UsernameField().clean(normalized_name(typed))

    assert looked_up == normalized_name(typed)
    assert UsernameField().clean(typed).strip() == looked_up


@pytest.mark.parametrize("typed", ["jane", " jane", "jane\t", "ｊane", "ｊａｎｅ", "\u00a0jane\u2003"])
def test_spellings_of_a_name_count_as_that_name(typed):
    limits = limits_of(Attempt(normalized_name(typed), "192.0.2.1"), per_address=1, per_name=1, in_all=1)

    assert limits == limits_of(Attempt("jane", "192.0.2.1"), per_address=1, per_name=1, in_all=1)


def test_a_known_browser_is_counted_by_itself():
    attempt_limits = limits_of(Attempt("jane", "192.0.2.1", "b1"), per_address=1, per_name=1, in_all=1)
    other = limits_of(Attempt("jane", "192.0.2.1"), per_address=1, per_name=1, in_all=1)

    assert not {limit.key for limit in (*attempt_limits.own, *attempt_limits.shared)} & {
        limit.key for limit in (*other.own, *other.shared)
    }
    assert exceeded(attempt_limits.own, [11])
    assert not exceeded(attempt_limits.own, [10])


def test_local_counters_end_with_their_window_and_keep_to_their_room():
    now = [0.0]
    counters = LocalCounters(clock=lambda: now[0], most=10)

    assert [counters.add(["a", "b"], 60) for _ in range(2)] == [[1, 1], [2, 2]]
    counters.forget(["a"])
    assert counters.add(["a", "b"], 60, -1) == [-1, 1]
    now[0] = 60.0
    assert counters.add(["b"], 60) == [1]
    for number in range(1000):
        counters.add([f"guess-{number}"], 60)
        assert len(counters) <= 10


@given(st.floats(min_value=0, max_value=1e10))
def test_a_refused_client_waits_within_a_minute(now):
    assert 1 <= seconds_left(now) <= 60


@given(st.integers(1, 10_000), st.integers(0, 20_000), st.integers(1, 60), st.floats(0, 1, exclude_max=True))
def test_nobody_reads_a_negative_rest_or_comes_back_too_early(limit, used, left, luck):
    use = RateUse("token", limit, used, left)

    remaining = int(use.headers()["RateLimit"].split("r=")[1].split(";")[0])
    assert remaining == max(0, limit - used)
    assert use.is_exceeded == (used > limit)
    assert left <= use.retry_after(luck) <= left + SPREAD_SECONDS
