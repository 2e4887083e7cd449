"""Postgres with Patroni: three nodes under load, whose primary dies, freezes, or hands over.

ROUNDS=2 plays each fault twice; five times is the nightly measure. FAULTS=kill AGENTS=10000 plays one of them
with more agents than 400. See docs/operations.md.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from controlplane.local import Services
from tests.support import patroni
from tests.support.failover_site import FailoverSite
from tests.support.patroni import Node, PatroniCluster, short_folder
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(bool(patroni.missing()), reason=patroni.missing() or "installed")
ROUNDS = int(os.environ.get("ROUNDS", "5"))
FAULTS = os.environ.get("FAULTS", "kill,switch_over,freeze,kill_patroni").split(",")
# Lock of a dead leader, and the election.
LONGEST_GAP, LONGEST_SWITCH_OVER, FROZEN_SECONDS = 30, 5, 60


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture
def cluster(folder: Path) -> Iterator[PatroniCluster]:
    cluster = PatroniCluster(folder, 3, strict=True)
    yield cluster
    cluster.stop()


@pytest.fixture
def site(services: Services, folder: Path, cluster: PatroniCluster) -> Iterator[FailoverSite]:
    site = FailoverSite(services, folder, cluster)
    try:
        site.start_load()
        yield site
    finally:
        site.stop()


def primary_of(cluster: PatroniCluster) -> Node:
    node = cluster.primary()
    assert node is not None, cluster.members()
    return node


def kill(site: FailoverSite) -> None:
    """The machine dies, and comes back later."""
    victim = primary_of(site.cluster)
    assert site.fail("kill", victim.kill) <= LONGEST_GAP
    victim.start()


def switch_over(site: FailoverSite) -> None:
    assert site.fail("switch-over", site.cluster.switch_over) <= LONGEST_SWITCH_OVER


def freeze(site: FailoverSite) -> None:
    """The machine stops for a minute, and then goes on as if it still were the primary."""
    victim = primary_of(site.cluster)
    began = time.monotonic()
    assert site.fail("freeze", victim.freeze) <= LONGEST_GAP
    time.sleep(max(0.0, began + FROZEN_SECONDS - time.monotonic()))
    assert site.fail("thaw", victim.thaw) <= LONGEST_SWITCH_OVER


def kill_patroni(site: FailoverSite) -> None:
    """Nobody demotes the old primary: it goes on to accept connections, and confirms nothing."""
    victim = primary_of(site.cluster)
    assert (
        site.fail("kill Patroni", lambda: (victim.kill_patroni(), wait_for_another(site, victim)))
        <= LONGEST_GAP
    )
    time.sleep(5)
    victim.kill()
    victim.start()


def wait_for_another(site: FailoverSite, victim: Node) -> None:
    until(lambda: site.cluster.primary() not in (None, victim), 60, site.cluster.members, pause=0.2)


PLAYED: dict[str, Callable[[FailoverSite], None]] = {
    "kill": kill,
    "switch_over": switch_over,
    "freeze": freeze,
    "kill_patroni": kill_patroni,
}


def test_nothing_acknowledged_is_lost_whatever_happens_to_the_primary(site: FailoverSite) -> None:
    for _ in range(ROUNDS):
        for fault in FAULTS:
            PLAYED[fault](site)
            site.cluster.wait_until_complete()
    site.settle().verify()


def test_without_any_standby_changes_wait_and_reads_go_on(site: FailoverSite) -> None:
    cluster, primary = site.cluster, primary_of(site.cluster)
    first, second = [node for node in cluster.nodes if node is not primary]
    assert site.fail("kill a standby", first.kill) <= LONGEST_GAP
    second.kill()
    time.sleep(15)
    acknowledged, read = site.acknowledged(), site.read()
    time.sleep(10)
    assert site.acknowledged() == acknowledged
    assert site.read() > read
    assert site.readiness()["standby"] == "degraded"
    assert any(writer.answers[503, "outcome_unknown"] for writer in site.writers)

    first.start()
    second.start()
    site.fail("standbys return", lambda: None, heals=90)
    cluster.wait_until_complete()
    assert primary_of(cluster) is primary
    assert site.readiness()["standby"] == "ok"
    site.settle().verify()
