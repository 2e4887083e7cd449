"""`python -m benchmarks.agent_configs`: what publishing costs among 200 teams with 2,000 documents.

It starts Postgres of its own, publishes everything, and then changes one document after another, measuring
each recompute with its conditions, bundle and events. `--write` puts the table into docs/performance.md.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from statistics import median

import django

from benchmarks import table
from benchmarks.machine import description
from benchmarks.stage import stage
from benchmarks.table import Row

# Everything by the task: what is measured is the recompute itself. One document is changed again and again.
_ENVIRONMENT = {"AGENT_CONFIGS_AT_ONCE": "0", "AGENT_CONFIGS_FLAPS": "1000000"}


def main() -> int:
    options = _options()
    print(f"{description()}.", flush=True)
    with stage(_ENVIRONMENT) as running:
        os.environ.update(running.environment)
        django.setup()
        rows = _measure(options)
    text = table.markdown(rows)
    print(text)
    if options.write:
        preface = (
            f"{description()}. {options.teams} teams, {options.teams * options.each:,} documents with two "
            f"task types each, one data plane; {options.rounds} changes, one after the other."
        )
        table.write(f"{preface}\n\n{text}", part="agent-configs")
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--teams", type=int, default=200)
    parser.add_argument("--each", type=int, default=10, help="documents of each team")
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--planes", type=int, default=10, help="data planes that the webhook decides for")
    parser.add_argument("--write", action="store_true", help="put the table into docs/performance.md")
    return parser.parse_args()


def _measure(options: argparse.Namespace) -> list[Row]:
    from controlplane.identity.actors import system  # Django must be set up
    from controlplane.identity.callers import Caller
    from controlplane.identity.grants import Grant
    from controlplane.identity.roles import Role
    from registry.agent_configs.delivery.data_planes import (
        DataPlaneSpec,
        Format,
        configuration_etag,
        get_configuration,
        get_plane,
        put_plane,
    )
    from registry.agent_configs.documents.published import DocumentId
    from registry.agent_configs.publishing.admission_webhook import review
    from registry.agent_configs.publishing.preview import PreviewChange, preview_changes
    from registry.agent_configs.publishing.publish import DocumentSpec, put_document
    from registry.agent_configs.publishing.recompute import recompute_all

    actor = system("benchmark")
    caller = Caller(None, "benchmark", "service", (Grant(Role.ADMIN),))
    put_plane("bench", DataPlaneSpec(), actor=actor)
    names = [
        DocumentId("api", f"team{team}", f"doc{number}")
        for team in range(options.teams)
        for number in range(options.each)
    ]
    published = [
        _timed(lambda name=name: put_document(DocumentSpec(name, _text(name, 0)), actor=actor))
        for name in names
    ]
    first = _timed(lambda: recompute_all(actor))
    plane = get_plane("bench")
    served = get_configuration(plane, Format.YAML)
    changed, unchanged = [], []
    for number in range(1, options.rounds + 1):
        name = names[number * 7 % len(names)]
        put_document(DocumentSpec(name, _text(name, number)), actor=actor)
        changed.append(_timed(lambda: recompute_all(actor)))
        unchanged.append(_timed(lambda: recompute_all(actor)))
    change = PreviewChange(names[0], _text(names[0], 999))
    previewed = [
        _timed(lambda: preview_changes([change], caller)) for _ in range(max(3, options.rounds // 5))
    ]
    admitted = [_timed(lambda: review(_review(), caller)) for _ in range(options.rounds)]
    for number in range(2, options.planes + 1):
        put_plane(f"bench{number}", DataPlaneSpec(), actor=actor)
    crowded = [_timed(lambda: review(_review(), caller)) for _ in range(options.rounds)]
    numbers = [
        _timed(lambda: configuration_etag(get_plane("bench"), Format.YAML)) for _ in range(options.rounds)
    ]
    return [
        _row("publish: read, check, store, audit", published),
        _row("the first bundle, everything new", [first]),
        _row("recompute after one change", changed, target="p99 < 2000"),
        _row("look when nothing changed", unchanged),
        _row("preview of one change", previewed),
        _row("webhook: may a new document be written", admitted, target="p99 < 1000"),
        _row(f"the same with {options.planes} data planes", crowded, target="p99 < 1000"),
        _row("ask for the ETag in force", numbers),
        Row(f"size of the bundle: {len(served.body) / 1024:.0f} KiB", ""),
    ]


def _text(one: object, number: int) -> str:
    name = str(one).replace("/", "-").removeprefix("api-")
    return (
        f"plugins:\n  agent-service:\n    agents:\n      {name}:\n"
        f"        endpoint: {name}-{number}.svc.cluster.local:8000\n        insecure: true\n"
        f"    supportedTaskTypes:\n    - {name}.sensor\n    - {name}.query\n"
    )


def _review() -> dict[str, object]:
    name = "flyteplugins-agentservice-new"
    data = {"agents.yaml": _text("team1-doc1x", 1).replace("- team1-doc1x.query", "- team1-doc1.query")}
    document = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data}
    review = {"uid": "u", "operation": "CREATE", "namespace": "team1", "name": name, "object": document}
    return {"request": review}


def _timed(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return (time.perf_counter() - began) * 1000


def _row(work: str, took: list[float], *, target: str = "") -> Row:
    ordered = sorted(took)
    p99 = ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))]
    return Row(
        work, f"{1000 / median(took):,.1f}", p50=f"{median(took):.1f}", p99=f"{p99:.1f}", target=target
    )


if __name__ == "__main__":
    sys.exit(main())
