"""Read replicas under traffic: nobody misses an own change, no answer is older than it says, and none fails.

Real web processes and real standbys; one of them replays two seconds late. Figures are printed.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from django.conf import settings
from django.db import connection

from controlplane.database.roles import WEB
from controlplane.local import Services
from controlplane.local.programs import stop_all
from tests.conftest import system_environment
from tests.support.api_client import AGENT, token_for
from tests.support.fleet import Plane
from tests.support.standby import Standby
from tests.support.waiting import is_reachable, until

STALENESS, POSITION = "X-Controlplane-Staleness", "X-Controlplane-Position"
CHANGES, WRITERS = 5_000, 6
AGENTS = 50_000
UNLIMITED = {"THROTTLE_CALLER_PER_MINUTE": "0", "THROTTLE_ANONYMOUS_PER_MINUTE": "0"}


class Site:
    """A web server with a standby, and requests to it."""

    def __init__(self, services: Services, folder: Path, delay: str) -> None:
        environment = system_environment(services)
        self.standby = Standby(services.environment["DATABASE_URL"], delay=delay)
        environment["DATABASE_URL"] = environment["DATABASE_URL"].replace("//controlplane@", f"//{WEB}@")
        # As in an installation: the Postgres of the tests would write its log up to 0.6 s later.
        environment["DATABASE_URL"] += "&options=-c%20synchronous_commit%3Don"
        environment["DATABASE_REPLICA_URL"] = self.standby.url(settings.DATABASES["default"]["NAME"], WEB)
        self._plane = Plane({**environment, **UNLIMITED}, folder)
        self.port = self._plane.serve()
        self._local = threading.local()
        self.token = ""
        until(lambda: is_reachable(f"http://127.0.0.1:{self.port}/readyz"), 150)

    def send(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, Any, Any]:
        """Return status, headers and body, on a connection of this thread."""
        if not hasattr(self._local, "http"):
            self._local.http = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        all_headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        all_headers |= {name.replace("_", "-"): value for name, value in headers.items()}
        content = None if body is None else json.dumps(body)
        self._local.http.request(method, f"/api/v1/{path}", content, all_headers)
        answer = self._local.http.getresponse()
        return answer.status, answer.headers, json.loads(answer.read() or b"null")

    def register(self, name: str) -> Any:
        body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
        status, headers, answer = self.send("POST", "agents", body)
        assert status == 201, answer
        return headers

    def outcomes(self) -> Counter[str]:
        connected = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        connected.request("GET", "/metrics", headers={"Authorization": f"Bearer {self.token}"})
        lines = connected.getresponse().read().decode().splitlines()
        found = [line.split() for line in lines if line.startswith("cp_replica_reads_total{")]
        return Counter({line[0].split('"')[1]: int(float(line[1])) for line in found})

    def stop(self) -> None:
        stop_all(self._plane.running, patience=5)
        self.standby.stop()


@pytest.fixture
def site_with(
    services: Services, django_db_setup: None, transactional_db: None, tmp_path: Path
) -> Iterator[Callable[[str], Site]]:
    sites: list[Site] = []

    def start(delay: str) -> Site:
        sites.append(Site(services, tmp_path, delay))
        sites[0].token = token_for("admin")
        return sites[0]

    yield start
    for site in sites:
        site.stop()


def in_threads(number: int, work: Callable[[int], None]) -> None:
    with ThreadPoolExecutor(number) as pool:
        for done in [pool.submit(work, each) for each in range(number)]:
            done.result()


@pytest.mark.parametrize("delay", ["2s", "0"])
def test_nobody_misses_an_own_change(site_with: Callable[[str], Site], delay: str):
    site = site_with(delay)
    stale: list[str] = []
    served: Counter[bool] = Counter()

    def write_and_read(writer: int) -> None:
        for number in range(CHANGES // WRITERS):
            name = f"w{writer}-{number}"
            position = site.register(name)[POSITION]
            status, headers, found = site.send(
                "GET", f"agents?q={name}&only=name&limit=200", **{POSITION: position}
            )
            assert status == 200, found
            served[STALENESS in headers] += 1
            if name not in {item["name"] for item in found["items"]}:
                stale.append(name)

    began = time.monotonic()
    in_threads(WRITERS, write_and_read)
    print(f"delay {delay}: {sum(served.values())} changes in {time.monotonic() - began:.0f} s,", end=" ")
    print(f"{served[True]} read from the replica, {len(stale)} stale; {dict(site.outcomes())}")
    assert stale == []
    assert (served[True] > 0) is (delay == "0")


@pytest.mark.parametrize("delay", ["2s", "0"])
def test_no_answer_is_older_than_it_says(site_with: Callable[[str], Site], delay: str):
    site = site_with(delay)
    confirmed: list[tuple[float, str]] = []
    served: Counter[bool] = Counter()
    stated: list[float] = []
    stop = threading.Event()

    def write() -> None:
        number = 0
        while not stop.is_set():
            site.register(f"s{number}")
            confirmed.append((time.monotonic(), f"s{number}"))
            number += 1
            time.sleep(0.02)

    def read(_: int) -> None:
        until_then = time.monotonic() + 30
        while time.monotonic() < until_then:
            known, asked_at = list(confirmed[-120:]), time.monotonic()
            status, headers, found = site.send("GET", "agents?sort=-create_time&only=name&limit=200")
            assert status == 200, found
            age = float(headers.get(STALENESS, 0))
            served[STALENESS in headers] += 1
            stated.append(age)
            names = {item["name"] for item in found["items"]}
            missing = [name for when, name in known if when < asked_at - age and name not in names]
            assert missing == [], f"An answer that says {age} s lacks {missing}."
            assert age <= 5

    writer = threading.Thread(target=write)
    writer.start()
    try:
        in_threads(3, read)
    finally:
        stop.set()
        writer.join()
    ages = sorted(stated)
    print(f"delay {delay}: {dict(served)}, stated median {ages[len(ages) // 2]} s, most {ages[-1]} s")
    assert served[True] > served[False]


def test_a_replica_that_dies_is_not_missed(site_with: Callable[[str], Site]):
    site = site_with("0")
    site.register("here")
    statuses: Counter[int] = Counter()
    stop = threading.Event()

    def read(_: int) -> None:
        while not stop.is_set():
            statuses[site.send("GET", "agents")[0]] += 1

    def kill_it() -> None:
        for _ in range(5):
            time.sleep(3)
            site.standby.kill()
            time.sleep(1)
            site.standby.start()
        time.sleep(6)
        stop.set()

    killer = threading.Thread(target=kill_it)
    killer.start()
    in_threads(4, read)
    killer.join()
    outcomes = site.outcomes()
    print(f"killed five times: {dict(statuses)}, {dict(outcomes)}")
    assert set(statuses) == {200}
    assert outcomes["replica"] > 0
    assert outcomes["away"] + outcomes["failed"] > 0


def make_agents(number: int) -> None:
    """Copy one registered agent, with its lease, many times: only lists are looked at."""
    agent, lease = (
        columns_of("registry_agent", "id", "name", "topic_name"),
        columns_of("registry_lease", "agent_id"),
    )
    with connection.cursor() as cursor:
        cursor.execute(
            f"INSERT INTO registry_agent (id, name, topic_name, {names_in(agent)})"
            f" SELECT gen_random_uuid(), 'copy-' || n, 'dcm.agent.copy-' || n, {agent}"
            " FROM registry_agent, generate_series(1, %s) AS n WHERE name = 'here'",
            [number],
        )
        cursor.execute(
            f"INSERT INTO registry_lease (agent_id, {names_in(lease)}) SELECT agent.id, {lease}"
            " FROM registry_agent AS agent, registry_lease WHERE agent.name LIKE 'copy-%'"
        )
        cursor.execute("ANALYZE registry_agent, registry_lease")


def names_in(columns: str) -> str:
    return ",".join(column.rpartition(".")[2] for column in columns.split(","))


def columns_of(table: str, *without: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT string_agg(format('%%I.%%I', attrelid::regclass, attname), ',') FROM pg_attribute"
            " WHERE attnum > 0 AND NOT attisdropped AND attrelid = %s::regclass AND attgenerated = ''"
            " AND attname <> ALL (%s)",
            [table, list(without)],
        )
        return str(cursor.fetchone()[0])


def test_conflicts_with_recovery_reach_nobody(site_with: Callable[[str], Site]):
    site = site_with("0")
    site.register("here")
    make_agents(AGENTS)
    statuses: Counter[int] = Counter()
    stop = threading.Event()

    def read(_: int) -> None:
        while not stop.is_set():
            statuses[site.send("GET", "agents?q=zz")[0]] += 1

    def lock() -> None:
        for _ in range(100):
            with connection.cursor() as cursor:
                cursor.execute("BEGIN; LOCK TABLE registry_agent IN ACCESS EXCLUSIVE MODE; COMMIT")
            time.sleep(0.1)
        stop.set()

    locker = ThreadPoolExecutor(1)
    done = locker.submit(in_threads, 4, read)
    lock()
    done.result()
    outcomes = site.outcomes()
    print(f"100 locks: {dict(statuses)}, {dict(outcomes)}")
    assert set(statuses) == {200}
    assert outcomes["conflict"] > 0


def primary_load() -> tuple[float, int]:
    """Return the milliseconds in statements of this database, and its transactions."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_stat_clear_snapshot()")
        cursor.execute(
            "SELECT active_time, xact_commit FROM pg_stat_database WHERE datname = current_database()"
        )
        row = cursor.fetchone()
    return float(row[0]), int(row[1])


def test_lists_leave_the_primary(site_with: Callable[[str], Site]):
    site = site_with("0")
    site.register("here")
    make_agents(AGENTS)
    paths = (
        "agents?limit=200",
        "agents?q=py-1",
        "agents?q=zz",
        "agents?sort=-state_since",
        "audit",
        "events",
    )

    def load(**headers: str) -> tuple[float, float]:
        time.sleep(2)  # statistics are reported once a second
        before = primary_load()
        for number in range(300):
            assert site.send("GET", paths[number % len(paths)], **headers)[0] == 200
        time.sleep(2)
        after = primary_load()
        return after[0] - before[0], after[1] - before[1]

    until(lambda: STALENESS in site.send("GET", "agents")[1], 60, site.outcomes)
    alone, shared = load(Cache_Control="no-cache"), load()
    moved = 1 - shared[0] / alone[0]
    print(f"300 lists: {alone[0]:.0f} ms and {alone[1]:.0f} transactions on the primary,", end=" ")
    print(f"with a replica {shared[0]:.0f} ms and {shared[1]:.0f}; {moved:.0%} of SQL time moved")
    print(dict(site.outcomes()))
    assert moved >= 0.8
