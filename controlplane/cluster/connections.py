"""Connections to Postgres that an installation needs, by process. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Processes:
    """How many of each there are. web_workers, worker_children: of each web process and each worker."""

    web: int = 2
    web_workers: int = 4
    flyte_grpc: int = 1
    workers: int = 2
    worker_children: int = 4
    beats: int = 1
    relays: int = 2


@dataclass(frozen=True, slots=True)
class Threads:
    """Connections within one process, from its settings.

    heartbeats, joins, fast_reads, config_polls: of each web worker. relay: its loops. samples: of each web
    worker too, if there are read replicas.
    """

    web: int
    heartbeats: int
    joins: int
    fast_reads: int
    config_polls: int
    flyte_grpc: int
    relay: int
    samples: int = 0


@dataclass(frozen=True, slots=True)
class Demand:
    """Connections of one kind of process. pooled: may go through a pooler. direct: sessions of their own."""

    process: str
    pooled: int
    direct: int


def demand(processes: Processes, threads: Threads) -> list[Demand]:
    """Return what each kind of process needs at most."""
    workers = processes.web * processes.web_workers
    sessions = threads.heartbeats + threads.joins + threads.fast_reads + threads.config_polls
    return [
        Demand("web", workers * (threads.web + threads.samples), workers * sessions),
        Demand("flyte-grpc", processes.flyte_grpc * threads.flyte_grpc, processes.flyte_grpc),
        Demand("worker", processes.workers * processes.worker_children, 0),
        Demand("beat", processes.beats, 0),
        Demand("relay", processes.relays * threads.relay, 0),
    ]


def needed_at_postgres(demands: Iterable[Demand], pool_size: int | None) -> int:
    """Return the connections that Postgres must allow. pool_size: of the pooler, if there is one."""
    rows = list(demands)
    pooled = sum(row.pooled for row in rows)
    return sum(row.direct for row in rows) + (pooled if pool_size is None else min(pooled, pool_size))
