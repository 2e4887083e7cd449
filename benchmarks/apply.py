"""B10: 10,000 overrides applied at once, atomically, diffed and audited, into all the others."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Iterator
from statistics import median
from typing import Any

import psycopg

from benchmarks.dataset import Dataset
from benchmarks.stage import Server, Stage
from benchmarks.table import Row

COUNT = 10_000
_PATH = "/api/v1/overrides:apply?managed_by=bench"


def rows(running: Stage, ours: Server, token: str, dataset: Dataset, rounds: int) -> list[Row]:
    """Create, the same again, 1 % changed, all changed; and what decoding and COPY alone cost."""
    took: dict[str, list[float]] = {name: [] for name in ("create", "same", "some", "all", "floor")}
    for number in range(max(1, min(rounds, 3))):
        first = list(documents(dataset, number, "a"))
        some = [*documents(dataset, number, "b", COUNT // 100), *first[COUNT // 100 :]]
        last = list(documents(dataset, number, "c"))
        for name, batch in (("create", first), ("same", first), ("some", some), ("all", last)):
            took[name].append(_apply(ours.port, token, batch))
        took["floor"].append(_floor(running.environment["DATABASE_URL"], first))
    floor = median(took["floor"])
    titles = {
        "create": (f"apply {COUNT:,}: create", "<= 3 x"),
        "same": (f"apply {COUNT:,}: nothing changed", "<= 1.5 x"),
        "some": (f"apply {COUNT:,}: 1 % changed", ""),
        "all": (f"apply {COUNT:,}: all changed", "<= 3.5 x"),
    }
    return [
        Row("decode + COPY + commit of the same", f"{floor:.2f} s"),
        *(
            Row(
                title,
                f"{median(took[name]):.2f} s",
                ratio=f"{median(took[name]) / floor:.1f} x",
                target=target,
            )
            for name, (title, target) in titles.items()
        ),
    ]


def documents(dataset: Dataset, number: int, value: str, count: int = COUNT) -> Iterator[dict[str, Any]]:
    """Documents of launch plans, where nothing is set yet; other launch plans for each number."""
    for index in range(count):
        project, domain, workflow = dataset.workflow(index % dataset.workflows)
        yield {
            "apiVersion": 1,
            "kind": "overrides",
            "project": project,
            "domain": domain,
            "workflow": workflow,
            "launchPlan": f"l{number}-{index // dataset.workflows}",
            "spec": {"executionQueueAttributes": {"tags": [f"{value}{index}"]}},
        }


def _apply(port: int, token: str, documents: list[dict[str, Any]]) -> float:
    return timed_post(port, token, _PATH, {"documents": documents})


def _floor(url: str, documents: list[dict[str, Any]]) -> float:
    """Read the JSON, COPY it into a table, commit: what no implementation can leave out."""
    body = json.dumps({"documents": documents})
    with psycopg.connect(url) as connection:
        connection.execute("CREATE TABLE IF NOT EXISTS bench_floor (scope text, kind text, attributes jsonb)")
        connection.commit()
        began = time.perf_counter()
        with connection.cursor().copy("COPY bench_floor FROM STDIN") as copy:
            for document in json.loads(body)["documents"]:
                scope = "/".join(document[name] for name in ("project", "domain", "workflow", "launchPlan"))
                copy.write_row(
                    (scope, "execution_queue", json.dumps(document["spec"]["executionQueueAttributes"]))
                )
        connection.commit()
        return time.perf_counter() - began


def timed_post(port: int, token: str, path: str, body: Any) -> float:
    """Seconds until the whole answer is there. Raises RuntimeError for any but a success."""
    text = json.dumps(body)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
    began = time.perf_counter()
    connection.request(
        "POST", path, text, {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    )
    answer = connection.getresponse()
    content = answer.read()
    took = time.perf_counter() - began
    connection.close()
    if answer.status >= 400:
        raise RuntimeError(f"{path}: {answer.status} {content[:500]!r}")
    return took
