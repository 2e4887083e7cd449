"""Upgrades under traffic: from an earlier state to a later release and back, process by process.

UPGRADE_FROM names the commit of the earlier state. Without it, it is the oldest state whose processes can run
beside later ones. From 0.1.0, whose processes cannot, an upgrade is stop, migrate, start.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

from controlplane.local import Services
from controlplane.local.programs import free_port
from tests.support import haproxy
from tests.support.patroni import short_folder
from tests.support.releases import (
    FIRST_WITH_PRESENCE,
    Release,
    commit_of,
    commit_that_wrote,
    earlier,
    later,
)
from tests.support.rolling_site import RollingSite, environment_for
from tests.support.waiting import until

pytestmark = pytest.mark.skipif(bool(haproxy.missing()), reason=haproxy.missing() or "installed")
# Seconds of traffic with both versions side by side.
BESIDE = 5
# A lock waits a second at most, and then everybody else goes on.
LONGEST_GAP, LONGEST_LOCK_WAIT = 3.0, 1.0
PROCESSES = ("web-1", "web-2", "worker", "beat", "relay")
EXPORT = """
import sys, django
django.setup()
from django.test import Client
answer = Client().get("/api/v1/overrides/export", headers={"Authorization": "Bearer " + sys.argv[1]})
assert answer.status_code == 200, answer.content
sys.stdout.write(b"".join(answer).decode() if answer.streaming else answer.content.decode())
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    with short_folder() as folder:
        yield folder


@pytest.fixture
def old(folder: Path) -> Release:
    commit = os.environ.get("UPGRADE_FROM") or commit_of(FIRST_WITH_PRESENCE)
    if not commit:
        pytest.skip("This clone has not the commit of the earlier state: fetch the whole history.")
    return earlier(commit, folder / "old", "0.1.0")


@pytest.fixture
def new(folder: Path) -> Release:
    return later(folder / "new", "0.2.0")


@pytest.fixture
def site(services: Services, folder: Path, old: Release) -> Iterator[RollingSite]:
    site = RollingSite(services, folder, old)
    try:
        site.start_load()
        yield site
    finally:
        site.stop()


def test_an_upgrade_and_the_way_back_interrupt_nobody(site: RollingSite, old: Release, new: Release) -> None:
    migrate(site, new, "expand")
    refused = new.manage(site.environment, "migrate", "--phase", "contract")
    assert refused.returncode != 0
    assert "0.1.0" in refused.stderr, refused.stderr

    roll(site, new, beside=True)
    print("forward", site.answers(), flush=True)
    roll(site, old)
    print("and back", site.answers(), flush=True)
    roll(site, new)
    until(lambda: versions(site) == {"0.2.0"}, 90, lambda: str(site.meta()))
    migrate(site, new, "contract")
    time.sleep(BESIDE)

    judge(site)


def migrate(site: RollingSite, release: Release, phase: str) -> None:
    began = time.monotonic()
    done = release.manage(site.environment, "migrate", "--phase", phase)
    assert done.returncode == 0, done.stderr
    print(f"migrate --phase {phase}: {time.monotonic() - began:.1f} s", flush=True)


def roll(site: RollingSite, release: Release, *, beside: bool = False) -> None:
    """Replace each process by one of the release."""
    for number, process in enumerate(PROCESSES):
        site.replace(process, release)
        if beside and number == 0:
            until(lambda: versions(site) == {"0.1.0", "0.2.0"}, 30, lambda: str(site.meta()))
            time.sleep(BESIDE)


def versions(site: RollingSite) -> set[str]:
    return set(site.meta()["members"]["versions"])


def judge(site: RollingSite) -> None:
    verdicts = site.settle()
    answers = site.answers()
    failed = {answer: number for answer, number in answers.items() if answer[0] == 0 or answer[0] >= 500}
    gap, unavailable = site.longest_gap(), site.unavailable()
    counted, waits = verdicts.values(), site.lock_waits.longest
    print(
        f"\nanswers {sum(answers.values())}, failed {sum(failed.values())}"
        f", acknowledged {sum(verdict.acknowledged for verdict in counted)}"
        f", unknown {sum(verdict.unknown for verdict in counted)}"
        f", lost {sum(len(verdict.lost) for verdict in counted)}"
        f", twice {sum(len(verdict.twice) for verdict in counted)}"
        f", longest gap {gap:.1f} s, wrongly unavailable {len(unavailable)}"
        f"\nlists {dict(site.lists.statuses)}, longest waits for locks {waits}"
        f" in {site.lock_waits.looks} looks",
        flush=True,
    )
    assert failed == {}, site.front_log()
    assert set(site.lists.statuses) == {200}, site.lists.failures
    assert waits["processes"][0] <= LONGEST_LOCK_WAIT
    for kind, verdict in verdicts.items():
        assert (verdict.lost, verdict.twice, verdict.untrue) == ([], [], []), kind
    assert unavailable == []
    assert gap < LONGEST_GAP


def test_an_installation_of_the_first_release_is_upgraded_as_a_whole(
    services: Services, folder: Path
) -> None:
    commit = commit_that_wrote("## [0.1.0]", "CHANGELOG.md")
    if not commit:
        pytest.skip("This clone has not the commit of 0.1.0: fetch the whole history.")
    first, now = earlier(commit, folder / "first", "0.1.0"), later(folder / "now", "0.2.0")
    environment = environment_for(services, f"first_{free_port()}")
    with psycopg.connect(services.environment["DATABASE_URL"], autocommit=True) as administrator:
        administrator.execute(
            f"CREATE DATABASE {environment['DATABASE_URL'].rpartition('/')[2].partition('?')[0]}"
        )
    for words in (("migrate",), ("create_admin", "--data-dir", str(folder)), ("seed_demo",)):
        done = first.manage(environment, *words)
        assert done.returncode == 0, done.stderr
    token = (folder / "admin.token").read_text().strip()
    before = first.run(environment, "-c", EXPORT, token)
    assert before.returncode == 0, before.stderr

    done = now.manage(environment, "migrate")

    assert done.returncode == 0, done.stderr
    after = now.run(environment, "-c", EXPORT, token)
    assert after.returncode == 0, after.stderr
    assert after.stdout == before.stdout
    print(f"exported {len(after.stdout)} characters, equal before and after", flush=True)
