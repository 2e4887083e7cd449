"""Dashboards of Grafana: as generated, about metrics that exist, with units, no series for each object."""

from __future__ import annotations

import json
import re
from importlib import import_module
from itertools import chain
from typing import Any

import pytest

from controlplane.observability.metrics import exposition
from deploy.grafana.dashboards import DASHBOARDS
from deploy.grafana.generate import texts
from tests.support.paths import ROOT

FOLDER = ROOT / "deploy/grafana"
PANELS = tuple(chain.from_iterable(dashboard.panels for dashboard in DASHBOARDS))
METRIC = re.compile(r"\bcp_[a-z_]+\b")
# Shown from the first sweep, archive or login on.
LATER = {"cp_sweep_age_seconds", "cp_signing_key_age_seconds", "cp_log_partitions_unarchived"} | {
    "cp_beat_last_tick_timestamp_seconds"
}
# Modules of metrics that a web server, a worker or flyte-grpc loads, and the tests' process does not.
LOADED_LATER = (
    "overrides.api.effective.fast_path.handler",
    "overrides.flyte.calls",
    "controlplane.endpoints.events.streams",
    "controlplane.observability.certificates",
    "controlplane.observability.process_pages",
    "controlplane.observability.task_metrics",
    "controlplane.web.connection_metrics",
    "overrides.executions.metrics",
    "registry.sweep.expire",
)


def test_the_files_are_up_to_date():
    written = {path.name: path.read_text() for path in FOLDER.glob("*.json")}
    assert written == dict(texts()), "run: make dashboards"


@pytest.mark.django_db
def test_every_metric_of_a_panel_exists():
    # Loaded by a web server, and not by the tests' process.
    for module in LOADED_LATER:
        import_module(module)
    known = set(re.findall(r"^# TYPE (\w+)", exposition().text.decode(), re.MULTILINE))
    known |= {f"{name}{suffix}" for name in known for suffix in ("_bucket", "_count", "_total")}
    used = {name for panel in PANELS for query in panel.queries for name in METRIC.findall(query.expr)}
    assert used - known <= LATER


@pytest.mark.parametrize("panel", PANELS, ids=lambda panel: panel.title)
def test_a_panel_says_what_it_shows(panel):
    assert panel.unit
    assert len(panel.title.split()) <= 7
    for query in panel.queries:
        assert query.expr.count("(") == query.expr.count(")")
        assert not re.search(r"by \([^)]*\b(id|agent|resource|token)\b", query.expr)


@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.json")), ids=lambda path: path.stem)
def test_a_file_asks_the_chosen_source_alone(path):
    document: dict[str, Any] = json.loads(path.read_text())
    assert document["uid"] == path.stem
    (variable,) = document["templating"]["list"]
    assert (variable["name"], variable["query"]) == ("datasource", "prometheus")
    for panel in document["panels"]:
        assert panel["datasource"]["uid"] == "${datasource}"
        letters = [target["refId"] for target in panel["targets"]]
        assert letters
        assert len(set(letters)) == len(letters)
