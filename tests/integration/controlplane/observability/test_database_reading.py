"""Figures of the database: what cannot be read in time is left out, and delays nothing else."""

from __future__ import annotations

import threading

import httpx
import psycopg
import pytest
from django.db import connection
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from controlplane.identity.roles import Role
from controlplane.observability.database_reading import FigureReader
from tests.support.api_client import token_for

# More than there are threads of Django.
WAITING = 24


class Sleeping(Collector):
    """Takes some seconds of Postgres."""

    def __init__(self, seconds):
        self.seconds = seconds

    def collect(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_sleep(%s)", [self.seconds])
        yield GaugeMetricFamily("slow", "Slow.", value=1)


class Good(Collector):
    def __init__(self, order=None):
        self.order = order

    def collect(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT 2")
        yield GaugeMetricFamily("good", "Good.", value=2)


class Broken(Collector):
    def collect(self):
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1 / 0")
        yield GaugeMetricFamily("broken", "Broken.", value=3)


def samples(families):
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in families
        for sample in family.samples
    }


@pytest.mark.django_db
def test_a_slow_collector_is_left_out_and_the_others_are_read():
    reader = FigureReader(seconds=5, seconds_each=0.2)

    assert samples(reader.read([Sleeping(60), Broken(), Good()])) == {
        ("good",): 2,
        ("cp_figures_read", "Sleeping"): 0,
        ("cp_figures_read", "Broken"): 0,
        ("cp_figures_read", "Good"): 1,
    }


@pytest.mark.django_db
def test_the_limits_of_a_request_are_as_before():
    with connection.cursor() as cursor:
        cursor.execute("SHOW statement_timeout")
        before = cursor.fetchone()
        FigureReader(seconds_each=0.2).read([Good(), Sleeping(60)])
        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == before


@pytest.mark.django_db
def test_who_was_slow_comes_last_and_takes_no_time_of_others():
    reader = FigureReader(seconds=0.4, seconds_each=0.4)
    slow, good = Sleeping(60), Good()

    assert ("good",) not in samples(reader.read([slow, good]))
    slow.seconds = 0
    assert ("good",) in samples(reader.read([slow, good]))
    slow.seconds = 60
    reader.read([slow])
    assert ("good",) in samples(reader.read([slow, good]))


def scrape(client):
    answer = client.get("/metrics")
    assert answer.status_code == 200
    return samples(text_string_to_metric_families(answer.text))


def read_agents(url, headers):
    httpx.get(f"{url}/api/v1/agents", headers=headers, timeout=60)


def test_a_locked_table_costs_its_own_figures_while_every_thread_waits_for_it(live):
    headers = {"Authorization": f"Bearer {token_for(Role.VIEWER)}"}
    with httpx.Client(base_url=live.url, headers=headers, timeout=30) as client:
        assert scrape(client)[("cp_figures_read", "AgentCounts")] == 1
        threads = [threading.Thread(target=read_agents, args=(live.url, headers)) for _ in range(WAITING)]
        with psycopg.connect(live.environment["DATABASE_URL"]) as holder:
            holder.execute("LOCK TABLE registry_agent IN ACCESS EXCLUSIVE MODE")
            for thread in threads:
                thread.start()
            locked = scrape(client)
            assert any(thread.is_alive() for thread in threads)
        for thread in threads:
            thread.join()

        assert locked[("cp_figures_read", "AgentCounts")] == 0
        assert not [name for name, *_ in locked if name == "cp_agents"]
        assert locked[("cp_figures_read", "PoolCollector")] == 1
        assert ("cp_outbox_unsent",) in locked
        assert [name for name, *_ in locked if name == "cp_http_requests_total"]
        assert scrape(client)[("cp_figures_read", "AgentCounts")] == 1


def test_the_state_of_the_installation_names_what_cannot_be_read(api):
    with psycopg.connect(address()) as holder:
        holder.execute("LOCK TABLE pools_pool IN ACCESS EXCLUSIVE MODE")
        body = api.get("meta").json()

    (missing,) = [check for check in body["checks"] if check["name"] == "CpFiguresMissing"]
    assert (missing["is_good"], missing["about"]) == (False, "PoolCollector")
    assert body["is_good"] is False


def address():
    used = connection.settings_dict
    names = {"dbname": "NAME", "host": "HOST", "port": "PORT", "user": "USER", "password": "PASSWORD"}
    return psycopg.conninfo.make_conninfo(
        **{name: str(used[key]) for name, key in names.items() if used[key]}
    )
