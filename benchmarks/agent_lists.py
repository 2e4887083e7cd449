"""`python -m benchmarks.agent_lists`: pages of a big fleet, the first and a late one, filters and counts.

One request after the other: what matters is that a page costs the same wherever it is.
"""

from __future__ import annotations

import argparse
import http.client
import json
import os
import sys
import time
from collections.abc import Iterator
from statistics import median
from typing import Any
from urllib.parse import urlencode

import django

from benchmarks import database, fleet, rounds, table
from benchmarks.machine import description
from benchmarks.rounds import Contender
from benchmarks.stage import Server, Stage, stage
from benchmarks.table import Row

_ENVIRONMENT = {"LEASE_SECONDS": "86400"}
_TIMES = 25
_CLIENTS, _ROUNDS, _SECONDS = 8, 3, 3
_LABELS = """
UPDATE registry_agent SET labels = jsonb_build_object('team', 't' || right(name, 2), 'rank', right(name, 1))
WHERE id IN (SELECT id FROM registry_agent ORDER BY name LIMIT 100000)
"""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--agents", type=int, default=1_000_000)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    with stage(_ENVIRONMENT) as running:
        os.environ.update(running.environment)
        django.setup()
        fleet.load(running.environment["DATABASE_URL"], options.agents, 1)
        _label()
        token = running.administrator()
        server = running.serve("lists", "controlplane.asgi:application")
        rows = [*_measured(server, token, options.agents), *_beside_pgbench(running, server, token)]
    text = f"{description()}. {options.agents:,} agents, 100 a page.\n\n{table.markdown(rows)}"
    print(text)
    if options.write:
        table.write(text, "lists")
    return 0


def _label() -> None:
    from django.db import connection

    with connection.cursor() as cursor:
        cursor.execute("SET statement_timeout = 0")
        cursor.execute(_LABELS)
        cursor.execute("ANALYZE registry_agent")


def _measured(server: Server, token: str, agents: int) -> Any:
    first = _milliseconds(server, token, {"limit": "100"})
    yield Row("page 1, by name", f"{1000 / first:,.0f}", f"{first:.1f}")
    late = _milliseconds(server, token, {"limit": "100", "cursor": _cursor(server, token, agents)})
    yield Row(
        "the page in the middle",
        f"{1000 / late:,.0f}",
        f"{late:.1f}",
        ratio=f"{late / first:.2f} x page 1",
        target="<= 1.2 x",
    )
    for work, query in {
        "of one environment (a hundredth)": {"environment": "e7"},
        "of a state": {"health_status": "ready"},
        "newest state first": {"sort": "-state_since"},
        "by environment, newest state first": {"sort": "environment,-state_since"},
        "by state, then name descending": {"sort": "health_status,-name"},
        "longest without a heartbeat first": {"sort": "last_heartbeat"},
        "largest lag first": {"sort": "-consumer_lag"},
        "largest lag first, then by environment": {"sort": "-consumer_lag,environment"},
        "largest clock skew first": {"sort": "-clock_skew_ms"},
        "fields without lists and maps": {"view": "basic"},
        "a part of the name (one in a thousand)": {"q": "7531"},
        "selector of two labels (one in a thousand)": {"selector": "team=t37,rank in (7,8)"},
        "only names": {"only": "name"},
    }.items():
        milliseconds = _milliseconds(server, token, {"limit": "100", **query})
        yield Row(
            work,
            f"{1000 / milliseconds:,.0f}",
            f"{milliseconds:.1f}",
            ratio=f"{milliseconds / first:.2f} x page 1",
        )
    milliseconds = _milliseconds(server, token, {}, path="/api/v1/agents:summary")
    yield Row("counts by environment and state", f"{1000 / milliseconds:,.0f}", f"{milliseconds:.1f}")


def _beside_pgbench(running: Stage, server: Server, token: str) -> Iterator[Row]:
    """The rate of page 1, and of its statement alone; both with the client beside Postgres."""
    head = f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n\r\n"
    request = f"GET /api/v1/agents?limit=100 HTTP/1.1\r\n{head}"
    pages = Contender(
        "pages",
        server.port,
        [request.encode()],
        _CLIENTS,
        (server.process.pid,),
        (running.postgres,),
    )
    alone, shares = [], []
    for _ in range(_ROUNDS):
        rounds.play([pages], rounds=1, seconds=_SECONDS)
        alone.append(_statement_rate(running))
        shares.append(pages.results[-1].measured.rate / alone[-1])
    yield Row(f"the statement of page 1, pgbench, {_CLIENTS} clients", f"{median(alone):,.0f}")
    of_web, of_database = rounds.processor(pages)
    yield Row(
        f"page 1, {_CLIENTS} connections",
        f"{rounds.rate(pages):,.0f}",
        f"{rounds.merged(pages).percentile(0.5):.1f}",
        f"{rounds.merged(pages).percentile(0.99):.1f}",
        cpu=f"{of_web:.0f} + {of_database:.0f}",
        ratio=f"{median(shares):.2f} of pgbench",
        target=">= 0.5",
    )


def _statement_rate(running: Stage) -> float:
    from registry.agents.models import Agent

    statement = " ".join(str(Agent.objects.shown().order_by("name")[:101].query).split())
    url = running.environment["DATABASE_URL"]
    return database.rate_of(f"{statement};\n", url, running.folder, clients=_CLIENTS, seconds=_SECONDS)


def _cursor(server: Server, token: str, agents: int) -> str:
    """The cursor of page 1, moved to the middle, as if somebody had paged there."""
    from django.core import signing

    from controlplane.api.pages import _SALT

    page = _ask(server, token, "/api/v1/agents?limit=100")
    document = signing.loads(page["next_cursor"], salt=_SALT)
    return signing.dumps({**document, "key": [f"a{agents // 2}"]}, salt=_SALT)


def _ask(server: Server, token: str, target: str) -> Any:
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request("GET", target, headers={"Authorization": f"Bearer {token}"})
    answer = connection.getresponse()
    body = json.loads(answer.read())
    assert answer.status == 200, body
    assert body.get("items", True), target
    return body


def _milliseconds(server: Server, token: str, query: dict[str, str], path: str = "/api/v1/agents") -> float:
    target = f"{path}?{urlencode(query)}" if query else path
    begans = []
    for _ in range(_TIMES):
        began = time.perf_counter()
        _ask(server, token, target)
        begans.append((time.perf_counter() - began) * 1000)
    return median(begans)


if __name__ == "__main__":
    sys.exit(main())
