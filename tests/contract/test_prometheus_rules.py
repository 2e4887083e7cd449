"""Rules of Prometheus: as generated, about metrics that exist, with a runbook for each alert."""

from __future__ import annotations

import io
import platform
import re
from importlib import import_module
from typing import Any

import pytest
import yaml
from django.core.management import call_command

from controlplane import __version__
from controlplane.notifications.isolation import FAILURES
from controlplane.observability.alerting.causes import CAUSES
from controlplane.observability.alerting.objectives import OBJECTIVES, WINDOWS, burn_alerts, recordings
from controlplane.observability.alerting.rules import Severity
from controlplane.observability.metrics import exposition
from tests.contract.test_dashboards import LATER, LOADED_LATER
from tests.support.paths import ROOT

FOLDER = ROOT / "deploy/prometheus"
METRIC = re.compile(r"\b(?:cp|agentcfg)_[a-z_]+\b")
ALERTS = (*CAUSES, *burn_alerts())


def rules() -> list[dict[str, Any]]:
    document = yaml.safe_load((FOLDER / "controlplane.rules.yml").read_text())
    return [rule for group in document["groups"] for rule in group["rules"]]


def test_the_rules_are_up_to_date():
    written = io.StringIO()
    call_command("prometheus_rules", stdout=written)
    assert (FOLDER / "controlplane.rules.yml").read_text() == written.getvalue(), "run: make rules"


@pytest.mark.django_db
def test_every_metric_of_a_rule_exists():
    for module in LOADED_LATER:
        import_module(module)
    known = set(re.findall(r"^# TYPE (\w+)", exposition().text.decode(), re.MULTILINE))
    # Names of samples differ from those of their families.
    known |= {f"{name}{suffix}" for name in known for suffix in ("_bucket", "_count", "_total")}
    used = {name for rule in rules() for name in METRIC.findall(rule["expr"])}
    assert used >= {"cp_sweep_age_seconds", "cp_http_requests_total"}
    # The relay alone has the failures; others are shown from the first sweep, task, key or archive on.
    assert used - known <= LATER
    assert f"{FAILURES._name}_total" in known


@pytest.mark.django_db
def test_a_server_shows_its_version():
    assert (
        f'cp_build_info{{python="{platform.python_version()}",version="{__version__}"}} 1.0'
        in exposition().text.decode()
    )


def test_every_objective_is_recorded_in_every_window_that_an_alert_reads():
    recorded = {(rule.labels["slo"], rule.name) for rule in recordings()}
    assert len(recorded) == len(OBJECTIVES) * len(WINDOWS)
    read = {
        (alert.labels["slo"], name)
        for alert in burn_alerts()
        for name in re.findall(r"cp:slo_errors:ratio_rate\w+", alert.expression)
    }
    assert read <= recorded


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert.name)
def test_every_alert_has_a_runbook(alert):
    headings = re.findall(r"^### (\w+)$", (ROOT / "docs/operations.md").read_text(), re.MULTILINE)
    assert alert.name in headings
    assert alert.summary.endswith(".")


def test_runbooks_are_about_alerts_that_exist():
    page = (ROOT / "docs/operations.md").read_text()
    documented = set(re.findall(r"^### (Cp\w+)$", page, re.MULTILINE))
    assert documented == {alert.name for alert in ALERTS}


def test_the_example_configuration_reads_the_rules():
    config = yaml.safe_load((FOLDER / "prometheus.yml").read_text())
    assert [(FOLDER / name).is_file() for name in config["rule_files"]] == [True]


def test_receivers_of_teams_page_nobody():
    severities = {alert.severity for alert in burn_alerts() if alert.labels["slo"] == "deliveries"}

    assert severities == {Severity.TICKET}
