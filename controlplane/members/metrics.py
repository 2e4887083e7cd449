"""Prometheus metrics of the running processes and their versions."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from prometheus_client import Metric
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from controlplane.members.reading import read_members
from controlplane.members.versions import Skew, numbers

# Versions that have their own series: the newest ones.
_MOST_VERSIONS = 5
_OTHER = "other"


class MemberCollector(Collector):
    """Read at each scrape: the table has a row for each process."""

    def collect(self) -> Iterator[Metric]:
        members = read_members()
        shown = sorted(members.versions, key=numbers, reverse=True)[:_MOST_VERSIONS]
        counts = Counter(
            (member.process, member.version if member.version in shown else _OTHER)
            for member in members.running
        )
        family = GaugeMetricFamily("cp_members", "Processes that run.", labels=["process", "version"])
        for labels, number in sorted(counts.items()):
            family.add_metric(labels, number)
        yield family
        yield GaugeMetricFamily(
            "cp_members_too_old",
            "Processes that run and are older than the schema supports.",
            value=sum(member.skew is Skew.TOO_OLD for member in members.running),
        )
        yield GaugeMetricFamily(
            "cp_version_skew_seconds",
            "For how long processes of several versions have run beside each other.",
            value=members.skewed_for.total_seconds(),
        )
