"""The data: overrides of all eight built-in types, at every level, as many as asked for, loaded with COPY."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import psycopg

from benchmarks.database import settle

DOMAINS = ("development", "staging", "production")
WORKFLOWS = 100
VALUES: dict[str, Any] = {
    "task_resource": {"defaults": {"cpu": "500m", "memory": "1Gi"}, "limits": {"cpu": "2", "memory": "4Gi"}},
    "cluster_resource": {"attributes": {"projectQuotaCpu": "4000", "projectQuotaMemory": "8000Gi"}},
    "execution_queue": {"tags": ["gpu", "critical"]},
    "execution_cluster_label": {"value": "gpu"},
    "quality_of_service_specification": {"tier": "HIGH"},
    "plugin_override": {
        "overrides": [{"task_type": "spark", "plugin_id": ["spark"], "missing_plugin_behavior": "FAIL"}]
    },
    "workflow_execution_config": {"max_parallelism": 25},
    "cluster_assignment": {"cluster_pool_name": "pool"},
}
# Rows of one project with its domains and workflows, about: a million rows are 1,000 projects.
_PER_PROJECT = 1000
Place = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Dataset:
    rows: int
    projects: int

    def workflow(self, number: int) -> Place:
        """The scope of a workflow: project, domain, workflow. Neighbours lie far apart."""
        project, rest = number % self.projects, number // self.projects
        return f"p{project}", DOMAINS[rest % 3], f"w{rest // 3 % WORKFLOWS}"

    @property
    def workflows(self) -> int:
        return self.projects * len(DOMAINS) * WORKFLOWS


def load(url: str, rows: int, *, distinct: bool = False) -> Dataset:
    """Fill an empty database. distinct: no two documents of a type are equal. Raises psycopg.Error."""
    projects = max(1, rows // _PER_PROJECT)
    with psycopg.connect(url) as connection:
        with connection.cursor().copy("COPY overrides_project (id, name, description) FROM STDIN") as copy:
            for number in range(projects):
                copy.write_row((f"p{number}", f"Project {number}", ""))
        with connection.cursor().copy(_COPY) as copy:
            count = 0
            for row in _rows(projects):
                copy.write_row(_with_own_document(row, count) if distinct else row)
                count += 1
        connection.execute(
            "INSERT INTO overrides_revision VALUES (1, clock_timestamp(), 'load', '', '', %s, true)", [count]
        )
        connection.execute("UPDATE overrides_revisioncounter SET revision = 1")
    with psycopg.connect(url, autocommit=True) as connection:
        settle(connection)
    return Dataset(count, projects)


def _rows(projects: int) -> Iterator[tuple[Any, ...]]:
    everywhere = list(VALUES)
    yield from _at("", "", "", everywhere)
    for domain in DOMAINS:
        yield from _at("", domain, "", everywhere)
    for number in range(projects):
        yield from _at(f"p{number}", "", "", everywhere)
        for domain in DOMAINS:
            yield from _at(f"p{number}", domain, "", everywhere)
            for workflow in range(WORKFLOWS):
                # Three of the eight types, four now and then: each workflow others.
                some = [everywhere[(number + workflow + step) % 8] for step in (0, 3, 6, 1)]
                yield from _at(f"p{number}", domain, f"w{workflow}", some[: 3 + (workflow % 4 == 0)])


def _at(project: str, domain: str, workflow: str, types: list[str]) -> Iterator[tuple[Any, ...]]:
    for name in types:
        yield (uuid.uuid4(), name, project, domain, workflow, "", _TEXTS[name], 1, 1, "load", "")


def _with_own_document(row: tuple[Any, ...], number: int) -> tuple[Any, ...]:
    """Return the row with the row's number in its document, which stays valid."""
    document = json.loads(row[6])
    return (*row[:6], json.dumps(_numbered(document, number)), *row[7:])


def _numbered(value: Any, number: int, member: str = "") -> Any:
    if isinstance(value, dict):
        return {name: _numbered(below, number, name) for name, below in value.items()}
    if isinstance(value, list):
        return [_numbered(item, number, member) for item in value]
    if isinstance(value, int):
        return number
    if value[0].isdigit():  # a quantity
        return f"{number + 1}m" if member == "cpu" else f"{number + 1}Mi"
    fixed = member in ("tier", "task_type", "missing_plugin_behavior")
    return value if fixed else f"{value}-{number}"


_TEXTS = {name: json.dumps(value) for name, value in VALUES.items()}
_COPY = """
COPY overrides_override
    (id, resource_type, project, domain, workflow, launch_plan, attributes, version, revision, changed_by,
     change_message)
FROM STDIN
"""
