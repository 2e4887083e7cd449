"""Metrics of Postgres: which role this server has, and how far its standbys are behind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from django.db import connection
from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

# Standbys that have their own series; the worst of the others stands for all of them.
_MOST_STANDBYS = 20
_OTHER = "other"


@dataclass(frozen=True, slots=True)
class Standby:
    """A standby as the primary sees it. lag: in seconds, of what it has replayed. sync: confirms commits."""

    name: str
    lag: float
    sync: bool


@dataclass(frozen=True, slots=True)
class Replication:
    """wanted: commits wait for a standby. lag: in seconds, of this server if it is a standby.

    is_visible: whether this login may see standbys.
    """

    is_standby: bool
    wanted: bool
    lag: float
    is_visible: bool
    standbys: Sequence[Standby] = ()


class DatabaseCollector(Collector):
    """Figures of one server of Postgres, the one to which this process is connected."""

    def collect(self) -> Iterator[Metric]:
        yield from families_of(read_replication())


def read_replication() -> Replication:
    with connection.cursor() as cursor:
        cursor.execute(_STATE)
        is_standby, wanted, lag, is_visible = cursor.fetchone()
        cursor.execute(_STANDBYS)
        standbys = [Standby(*row) for row in cursor.fetchall()] if is_visible else []
    return Replication(is_standby, wanted, lag, is_visible, standbys)


def families_of(state: Replication) -> Iterator[Metric]:
    role = GaugeMetricFamily(
        "cp_db_role", "1 for the role that this server of Postgres has.", labels=["role"]
    )
    role.add_metric(["primary"], int(not state.is_standby))
    role.add_metric(["standby"], int(state.is_standby))
    yield role
    lags = GaugeMetricFamily(
        "cp_db_replication_lag_seconds",
        "By how much a standby is behind: by its name, or `self` if this server is one.",
        labels=["node"],
    )
    for name, lag in _lags(state).items():
        lags.add_metric([name], lag)
    yield lags
    if state.is_visible and not state.is_standby:
        yield GaugeMetricFamily(
            "cp_db_sync_standby_missing",
            "1 while commits wait for a standby, and none is connected.",
            value=int(state.wanted and not any(standby.sync for standby in state.standbys)),
        )


def _lags(state: Replication) -> dict[str, float]:
    lags = {"self": state.lag} if state.is_standby else {}
    # By name, so that each keeps its series.
    for number, standby in enumerate(sorted(state.standbys, key=lambda standby: standby.name)):
        name = standby.name if number < _MOST_STANDBYS else _OTHER
        lags[name] = max(standby.lag, lags.get(name, 0.0))
    return lags


# Without the rights of pg_read_all_stats, the columns of others' connections are NULL.
_STATE = """
SELECT pg_is_in_recovery(), current_setting('synchronous_standby_names') <> '',
       CASE WHEN NOT pg_is_in_recovery() OR pg_last_wal_receive_lsn() = pg_last_wal_replay_lsn() THEN 0
            ELSE coalesce(extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()), 0)
       END::float,
       pg_has_role('pg_read_all_stats', 'USAGE')
"""
# What only receives WAL, such as pg_receivewal, replays none. Who is silent is as far behind as it is silent.
_STANDBYS = """
SELECT application_name,
       CASE WHEN replay_lsn = sent_lsn THEN 0
            ELSE extract(epoch FROM greatest(replay_lag, CASE WHEN silence > interval '20 s' THEN silence END,
                                             interval '0')) END::float,
       sync_state IN ('sync', 'quorum')
  FROM pg_stat_replication, LATERAL (SELECT clock_timestamp() - reply_time AS silence) AS heard
 WHERE replay_lsn IS NOT NULL AND state IN ('streaming', 'catchup')
"""
