"""The machine of the primary dies, under load: two nodes of Patroni, where one goes on alone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from controlplane.local import Services
from tests.support import patroni
from tests.support.failover_site import FailoverSite
from tests.support.patroni import PatroniCluster, short_folder

# Two nodes of Patroni take minutes to start on a small machine.
pytestmark = [
    pytest.mark.nightly,
    pytest.mark.skipif(bool(patroni.missing()), reason=patroni.missing() or "installed"),
]


@pytest.fixture
def cluster() -> Iterator[PatroniCluster]:
    with short_folder() as folder:
        cluster = PatroniCluster(folder, 2)
        yield cluster
        cluster.stop()


@pytest.fixture
def site(services: Services, cluster: PatroniCluster, tmp_path: Path) -> Iterator[FailoverSite]:
    site = FailoverSite(services, tmp_path, cluster)
    try:
        site.start_load()
        yield site
    finally:
        site.stop()


def test_a_dead_primary_loses_no_change_and_no_agent(site: FailoverSite):
    victim = site.cluster.primary()
    assert victim is not None
    # It ends by itself, once all writers write again. The nightly lane measures the gap.
    site.fail("kill", victim.kill)
    victim.start()
    site.cluster.wait_until_complete()
    figures = site.settle()
    figures.verify()
    assert sum(verdict.acknowledged for verdict in figures.verdicts.values()) > 100
