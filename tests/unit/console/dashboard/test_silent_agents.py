"""Where agents are silent, and what the pattern says about the cause."""

from datetime import UTC, datetime, timedelta

import pytest

from console.dashboard.silent_agents import Fleet, Place, cause, most_affected, where

NOW = datetime(2030, 1, 1, 2, 22, tzinfo=UTC)
OURS = "Probably the network or this control plane, not the agents."


def place(name="eu", recent=0, agents=100, silent=None, **more):
    silent = recent if silent is None else silent
    return Place(name, agents, silent, recent, NOW if recent else None, **more)


@pytest.mark.parametrize(
    ("names", "of", "words"),
    [
        (["eu"], 3, "in eu"),
        (["eu"], 1, "in eu"),
        (["eu", "us"], 2, "in all 2 environments"),
        (["eu", "us"], 3, "in 2 of 3 environments"),
    ],
)
def test_places_are_named_or_counted(names, of, words):
    assert where(names, of) == words


def test_silence_in_most_environments_is_ours():
    quiet = [place(f"q{number}", 97) for number in range(20)]

    assert cause(Fleet((*quiet, *(place(f"h{number}") for number in range(5))))) == OURS
    assert cause(Fleet((place("a"), place("b")), whole_fleet=True)) == OURS


def test_silence_in_one_environment_is_its_own():
    assert cause(Fleet((place("eu", 97), place("us"), place("asia")))) == (
        "Probably the network or the cluster of eu, not each agent, because other environments are heard."
    )
    # The only environment: others cannot be compared.
    assert "other environments" not in cause(Fleet((place("eu", 97),)))


def test_silence_in_some_environments_is_what_they_share():
    places = [place("a", 50), place("b", 50), *(place(f"h{number}") for number in range(8))]

    assert cause(Fleet(tuple(places))) == "Probably something that these environments share, not each agent."


@pytest.mark.parametrize("recent", [0, 4, 19])
def test_few_silent_agents_have_no_common_cause(recent):
    assert cause(Fleet((place("eu", recent), place("us")))) == ""


def test_agents_that_are_silent_for_long_affect_nothing_unless_a_guard_does():
    assert not Fleet((place("eu", 0, silent=90),)).affected
    assert Fleet((place("eu", 0, silent=90, is_guarded=True),)).affected


def test_counts_and_the_begin_are_of_all_places():
    earlier = Place("us", 50, 9, 5, NOW - timedelta(minutes=3))
    fleet = Fleet((place("eu", 10), earlier, place("asia")))

    assert (fleet.recent, fleet.silent, fleet.agents) == (15, 19, 250)
    assert fleet.since == NOW - timedelta(minutes=3)
    assert Fleet((place("asia"),)).since is None


def test_the_most_affected_come_first_and_those_without_silent_agents_not():
    places = (place("few", 3), place("none"), place("many", 30), place("old", 0, silent=50))

    assert [found.name for found in most_affected(Fleet(places), 8)] == ["many", "few", "old"]
    assert [found.name for found in most_affected(Fleet(places), 1)] == ["many"]


@pytest.mark.parametrize(
    ("silent", "agents", "percent"), [(1, 20_000, 1), (0, 10, 0), (0, 0, 0), (97, 100, 97)]
)
def test_a_share_is_never_nothing_while_one_is_silent(silent, agents, percent):
    assert Place("eu", agents, silent).percent == percent
