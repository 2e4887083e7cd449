"""Figures of Postgres' replication, from what its views say."""

from __future__ import annotations

import pytest

from controlplane.observability.database_metrics import Replication, Standby, families_of


def samples(state: Replication) -> dict[str, float]:
    return {
        " ".join((sample.name, *sample.labels.values())): sample.value
        for family in families_of(state)
        for sample in family.samples
    }


def primary(*standbys: Standby, wanted: bool = False, is_visible: bool = True) -> Replication:
    return Replication(False, wanted, 0.0, is_visible, standbys)


def test_a_primary_alone():
    assert samples(primary()) == {
        "cp_db_role primary": 1,
        "cp_db_role standby": 0,
        "cp_db_sync_standby_missing": 0,
    }


def test_a_standby_knows_its_own_delay_and_nothing_of_others():
    assert samples(Replication(True, True, 3.5, True)) == {
        "cp_db_role primary": 0,
        "cp_db_role standby": 1,
        "cp_db_replication_lag_seconds self": 3.5,
    }


@pytest.mark.parametrize(
    ("standbys", "wanted", "missing"),
    [
        ((), True, 1),
        ((), False, 0),
        ((Standby("a", 0, sync=False),), True, 1),
        ((Standby("a", 0, sync=False), Standby("b", 0, sync=True)), True, 0),
    ],
)
def test_commits_that_wait_for_nobody_are_noticed(standbys, wanted, missing):
    assert samples(primary(*standbys, wanted=wanted))["cp_db_sync_standby_missing"] == missing


def test_who_may_not_see_standbys_claims_nothing():
    assert "cp_db_sync_standby_missing" not in samples(primary(wanted=True, is_visible=False))


def test_many_standbys_have_few_series_and_the_worst_of_the_rest_counts():
    figures = samples(primary(*(Standby(f"s{n:02}", n, sync=False) for n in range(30))))
    lags = {name: lag for name, lag in figures.items() if "lag" in name}

    assert len(lags) == 21
    assert lags["cp_db_replication_lag_seconds other"] == 29
    assert lags["cp_db_replication_lag_seconds s07"] == 7


def test_standbys_of_one_name_show_the_worst():
    figures = samples(primary(Standby("a", 9, sync=False), Standby("a", 2, sync=True)))
    assert figures["cp_db_replication_lag_seconds a"] == 9
