"""`python -m benchmarks.apply`: 10,000 overrides at once, diffed and audited, into all the others.

Beside each apply, in the same round: COPY of the very rows that it created, into the same tables.
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

import django

from benchmarks import table
from benchmarks.dataset import Dataset, load
from benchmarks.machine import description
from benchmarks.peers.copied_rows import copy_again
from benchmarks.stage import Server, Stage, stage
from benchmarks.table import Row

COUNT = 10_000
_PATH = "/api/v1/overrides:apply?managed_by=bench"
_TITLES = {
    "create": ("create", "<= 1.6 x"),
    "same": ("nothing changed", "<= 1.5 x"),
    "some": ("1 % changed", ""),
    "all": ("all changed", "<= 2 x"),
}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    options = parser.parse_args()
    with stage() as running:
        os.environ.update(running.environment)
        django.setup()
        dataset = load(running.environment["DATABASE_URL"], options.rows)
        token = running.administrator()
        ours = running.serve("ours", "controlplane.asgi:application")
        result = rows(running, ours, token, dataset, options.rounds)
    text = f"{description()}. {dataset.rows:,} overrides before.\n\n{table.markdown(result)}"
    print(text)
    if options.write:
        table.write(text, "apply")
    return 0


def rows(running: Stage, ours: Server, token: str, dataset: Dataset, rounds: int) -> list[Row]:
    """Create, the same again, 1 % changed, all changed; and what COPY of the created rows alone costs."""
    took: dict[str, list[float]] = {name: [] for name in ("create", "same", "some", "all", "copy")}
    for number in range(max(1, min(rounds, 9))):
        first = list(documents(dataset, number, "a"))
        some = [*documents(dataset, number, "b", COUNT // 100), *first[COUNT // 100 :]]
        last = list(documents(dataset, number, "c"))
        took["create"].append(_apply(ours.port, token, first))
        took["copy"].append(copy_again(running.environment["DATABASE_URL"], f"l{number}-", f"m{number}-"))
        for name, batch in (("same", first), ("some", some), ("all", last)):
            took[name].append(_apply(ours.port, token, batch))
    return [
        Row(f"COPY of the rows that creating {COUNT:,} writes, five tables", f"{median(took['copy']):.2f} s"),
        *(_row(name, took[name], took["copy"]) for name in _TITLES),
    ]


def _row(name: str, seconds: list[float], copied: list[float]) -> Row:
    title, target = _TITLES[name]
    ratio = median(ours / alone for ours, alone in zip(seconds, copied, strict=True))
    return Row(f"apply {COUNT:,}: {title}", f"{median(seconds):.2f} s", ratio=f"{ratio:.1f} x", target=target)


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


if __name__ == "__main__":
    sys.exit(main())
