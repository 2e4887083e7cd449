"""Which versions go together: with the schema, and with each other."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane import __version__
from controlplane.members.versions import (
    OLDEST_PROCESS,
    Build,
    Run,
    Schema,
    Skew,
    is_gone,
    is_too_old,
    newest,
    numbers,
    skew_of,
    skewed_for,
    worst,
)

NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)
versions = st.tuples(*[st.integers(0, 30)] * 3).map(lambda parts: ".".join(map(str, parts)))


def build(version: str = "0.2.0", registry: str = "0010_jobs") -> Build:
    return Build(version, {"registry": registry})


def schema(registry: str = "0010_jobs", oldest: str = "0.1.0") -> Schema:
    return Schema({"registry": registry}, oldest)


@pytest.mark.parametrize(
    ("of", "at", "top", "skew"),
    [
        (build(), schema(), "0.2.0", Skew.OK),
        (build("0.1.3"), schema(), "0.2.0", Skew.SKEWED),
        (build("0.1.3", "0009_pods"), schema(), "0.2.0", Skew.NEWER_SCHEMA),
        (build("0.3.0", "0011_more"), schema(), "0.3.0", Skew.SCHEMA_MISSING),
        (build("0.0.9", "0009_pods"), schema(), "0.2.0", Skew.TOO_OLD),
        # An app that the process has never heard of.
        (build(), Schema({"registry": "0010_jobs", "costs": "0001_initial"}), "0.2.0", Skew.NEWER_SCHEMA),
        # Nothing is recorded: no process is too old.
        (build("0.0.1"), Schema({"registry": "0010_jobs"}), "0.0.1", Skew.OK),
    ],
)
def test_a_process_goes_together_with_the_schema(of, at, top, skew):
    assert skew_of(of, at, top) is skew


def test_this_version_works_with_its_own_schema():
    assert numbers(OLDEST_PROCESS)
    assert not is_too_old(__version__, OLDEST_PROCESS)


def test_suffixes_do_not_count_and_nonsense_is_never_too_old():
    assert numbers("0.2.0rc1") == numbers("0.2") == (0, 2, 0)
    assert not is_too_old("0.2.0rc1", "0.2.0")
    assert not is_too_old("unknown", "9.0.0")
    assert not is_too_old("0.1.0", "")


@given(versions, versions)
def test_of_two_versions_at_most_one_is_too_old_beside_the_other(first, second):
    assert not (is_too_old(first, second) and is_too_old(second, first))
    assert is_too_old(first, second) == (numbers(newest([first, second])) != numbers(first))


@given(st.lists(versions, min_size=1), st.lists(st.integers(0, 10_000), min_size=1))
def test_skew_lasts_since_the_newest_version_came(of, ages):
    runs = [
        Run(version, NOW - timedelta(seconds=ages[place % len(ages)])) for place, version in enumerate(of)
    ]
    lasts = skewed_for(runs, NOW)
    if len({numbers(version) for version in of}) == 1:
        assert lasts == timedelta()
    else:
        top = numbers(newest(of))
        assert lasts == max(NOW - run.started_at for run in runs if numbers(run.version) == top)


def test_no_process_is_no_skew_and_the_worst_is_named():
    assert skewed_for([], NOW) == timedelta()
    assert worst([]) is Skew.OK
    assert worst([Skew.SKEWED, Skew.TOO_OLD, Skew.OK]) is Skew.TOO_OLD


def test_six_missing_signs_of_life_are_a_process_that_is_gone():
    assert not is_gone(NOW - timedelta(seconds=60), NOW)
    assert is_gone(NOW - timedelta(seconds=61), NOW)
