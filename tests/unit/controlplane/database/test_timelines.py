"""Which servers are former primaries, and in which order hosts are tried."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from controlplane.database.hosts import hosts_of, in_order
from controlplane.database.primary import Primary, server_of
from controlplane.database.timelines import Server, is_old, worth_telling

A, B, C = ("a", "1"), ("b", "2"), ("c", "3")
URL = {"host": "a,b,c", "port": "1,2,3", "target_session_attrs": "read-write", "dbname": "x"}


def test_a_server_is_old_if_another_copy_of_it_has_gone_on():
    seen = {"7": 3}
    assert is_old(Server("7", 2), seen)
    assert not is_old(Server("7", 3), seen)
    assert not is_old(Server("7", 4), seen)


def test_a_process_tells_what_it_had_from_servers_unless_others_know_better():
    assert worth_telling({"7": 3, "8": 1}, {"7": 4, "9": 9}) == {"8": 1}
    assert worth_telling({"7": 4}, {"7": 4}) == {"7": 4}


def test_what_others_told_is_forgotten_and_what_a_server_told_is_not():
    known = Primary()
    known.admit(Server("7", 2), A)
    known.learn({"7": 3, "8": 5})
    assert (known.is_old(Server("7", 2)), known.is_old(Server("8", 4))) == (True, True)
    known.learn({})
    assert (known.is_old(Server("7", 1)), known.is_old(Server("8", 4))) == (True, False)
    assert known.witnessed() == {"7": 2}


def test_a_standby_and_another_system_are_not_old():
    assert not is_old(Server("7", None), {"7": 3})
    assert not is_old(Server("8", 1), {"7": 3})


def test_the_timeline_is_in_the_name_of_the_wal_file():
    assert server_of("7", "0000001A00000000000000C3") == Server("7", 26)
    assert server_of("7", None) == Server("7", None)


@given(st.lists(st.one_of(st.none(), st.integers(1, 9)), max_size=30))
def test_whoever_is_admitted_has_the_highest_timeline_so_far(timelines: list[int | None]):
    known, highest = Primary(), 0
    for timeline in timelines:
        admitted = known.admit(Server("7", timeline), A)
        assert admitted == (timeline is None or timeline >= highest)
        highest = max(highest, timeline or 0)


def test_hosts_have_a_port_each_or_share_one():
    assert hosts_of(URL) == [A, B, C]
    assert hosts_of({"host": "a,b", "port": "7"}) == [("a", "7"), ("b", "7")]
    assert hosts_of({"host": "a"}) == [("a", "5432")]
    assert hosts_of({}) == [("", "5432")]


def test_the_last_primary_comes_first_and_what_is_avoided_last():
    ordered = in_order(URL, preferred=B, avoided=frozenset({A}))
    assert (ordered["host"], ordered["port"], ordered["dbname"]) == ("b,c,a", "2,3,1", "x")


@given(
    st.one_of(st.none(), st.sampled_from([A, B, C])), st.frozensets(st.sampled_from([A, B, C]), max_size=3)
)
def test_no_host_is_left_out(preferred: tuple[str, str] | None, avoided: frozenset[tuple[str, str]]):
    ordered = in_order(URL, preferred=preferred, avoided=avoided)
    assert sorted(hosts_of(ordered)) == [A, B, C]


def test_an_order_that_the_operator_means_stays():
    for other in (
        {"target_session_attrs": "any"},
        {"host": "a", "port": "1"},
        {"hostaddr": "1.1.1.1,1.1.1.2"},
    ):
        parameters: dict[str, Any] = {**URL, **other}
        assert in_order(parameters, preferred=B, avoided=frozenset({A})) is parameters


def test_a_process_tries_other_hosts_after_a_refusal_and_the_primary_first_later():
    known = Primary()
    known.admit(Server("7", 1), A)
    assert known.ordered(URL)["host"] == "a,b,c"
    known.avoid(A)
    assert known.ordered(URL)["host"] == "b,c,a"
    known.admit(Server("7", 2), C)
    assert known.ordered(URL)["host"] == "c,b,a"
    assert not known.has_refused()
    assert not known.admit(Server("7", 1), A)
    assert known.has_refused()
    # The former primary has followed, and was promoted again.
    assert known.admit(Server("7", 3), A)
    assert known.ordered(URL)["host"] == "a,b,c"
