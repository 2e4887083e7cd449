"""The real web server: its workers' figures are summed, and survive a worker that is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import httpx
import pytest
from prometheus_client.openmetrics.parser import text_string_to_metric_families

from controlplane.identity.roles import Role
from tests.support.api_client import token_for
from tests.support.waiting import until

ROUTE = "api/v1/event-types"


@pytest.fixture
def client(live):
    headers = {"Authorization": f"Bearer {token_for(Role.VIEWER)}"}
    with httpx.Client(base_url=live.url, headers=headers, timeout=20) as client:
        yield client


def scrape(client: httpx.Client) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    answer = client.get("/metrics", headers={"Accept": "application/openmetrics-text; version=1.0.0"})
    assert answer.headers["content-type"].startswith("application/openmetrics-text")
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(answer.text)
        for sample in family.samples
    }


def requests_in(figures: dict[tuple[str, frozenset[tuple[str, str]]], float]) -> float:
    labels = {"method": "GET", "route": ROUTE, "code_class": "2xx"}
    return figures.get(("cp_http_requests_total", frozenset(labels.items())), 0)


def workers_of(parent: int) -> list[int]:
    children = Path(f"/proc/{parent}/task/{parent}/children").read_text().split()
    return [int(child) for child in children]


def test_sums_survive_a_killed_worker(live, client):
    before = requests_in(scrape(client))
    for _ in range(10):
        # A connection each: both workers get some.
        httpx.get(f"{live.url}/{ROUTE}", headers=client.headers).raise_for_status()
    web = next(program.process.pid for program in live.running if program.name == "web")
    killed, *_ = workers = workers_of(web)
    assert len(workers) == 2

    os.kill(killed, signal.SIGKILL)
    until(lambda: killed not in workers_of(web) and len(workers_of(web)) == 2, 60, lambda: "no new worker")

    def figures():
        try:
            return scrape(client)
        except httpx.TransportError:  # the connection was the killed worker's
            return {}

    until(lambda: requests_in(figures()) == before + 10, 60, lambda: str(requests_in(figures())))


def test_connections_waits_tokens_and_the_queue_are_shown(client):
    def figures():
        return scrape(client)

    def shown(name, **labels):
        return figures().get((name, frozenset(labels.items())))

    # Written twice a second.
    until(lambda: (shown("cp_db_pool_max", kind="web") or 0) >= 4, 60, lambda: str(figures()))
    now = figures()
    assert now[("cp_db_wait_seconds_count", frozenset({("kind", "web")}))] > 0
    assert now[("cp_auth_total", frozenset({("method", "token"), ("result", "accepted")}))] > 0
    assert now[("cp_token_checks_seconds_count", frozenset())] > 0
    assert now[("cp_db_role", frozenset({("role", "primary")}))] == 1
    assert ("cp_queue_depth", frozenset({("queue", "celery")})) in now
    refused = now.get(("cp_auth_total", frozenset({("method", "token"), ("result", "refused")})), 0)

    assert client.get("/api/v1/me", headers={"Authorization": "Bearer cp_pat_wrong"}).status_code == 401

    assert shown("cp_auth_total", method="token", result="refused") == refused + 1
    until(lambda: shown("cp_beat_last_tick_timestamp_seconds") is not None, 60, lambda: "no tick")


def test_an_open_stream_is_counted_while_it_is_open(client):
    def watchers():
        return scrape(client)[("cp_watchers", frozenset())]

    before = watchers() if ("cp_watchers", frozenset()) in scrape(client) else 0
    with client.stream("GET", "/api/v1/events", headers={"Accept": "text/event-stream"}) as stream:
        assert stream.status_code == 200
        until(lambda: watchers() == before + 1, 60, lambda: str(watchers()))
    until(lambda: watchers() == before, 60, lambda: str(watchers()))
