"""Metrics of reads that may go to a replica."""

from __future__ import annotations

from prometheus_client import Counter

from controlplane.replicas.choice import Outcome

READS = Counter(
    "cp_replica_reads_total", "Reads that may go to a replica, by where they went and why.", ["outcome"]
)


def count_read(outcome: Outcome) -> None:
    READS.labels(outcome.value).inc()
