"""The rules in a real Prometheus. Needs `promtool` and `prometheus` of Debian's package prometheus."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.identity.roles import Role
from controlplane.local.programs import free_port
from deploy.grafana.dashboards import DASHBOARDS
from tests.support.api_client import token_for
from tests.support.paths import ROOT
from tests.support.waiting import until

RULES = ROOT / "deploy/prometheus/controlplane.rules.yml"
UNIT_TESTS = Path(__file__).with_name("prometheus_rules_test.yml")
pytestmark = pytest.mark.skipif(
    not (shutil.which("promtool") and shutil.which("prometheus")),
    reason="No promtool here. Install Debian's package prometheus.",
)


def test_the_rules_pass_their_unit_tests(tmp_path: Path) -> None:
    tests = tmp_path / "tests.yml"
    tests.write_text(UNIT_TESTS.read_text().replace("- RULES", f"- {RULES}"))
    for command in (["check", "rules", str(RULES)], ["test", "rules", str(tests)]):
        ran = subprocess.run(["promtool", *command], capture_output=True, text=True, check=False)
        assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_queries_of_dashboards_are_promql(tmp_path: Path) -> None:
    expressions = [
        query.expr.replace("$__rate_interval", "5m")
        for dashboard in DASHBOARDS
        for panel in dashboard.panels
        for query in panel.queries
    ]
    rules = [{"record": f"query:{number}", "expr": expr} for number, expr in enumerate(expressions)]
    file = tmp_path / "queries.yml"
    file.write_text(yaml.safe_dump({"groups": [{"name": "queries", "rules": rules}]}))
    ran = subprocess.run(
        ["promtool", "check", "rules", str(file)], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert f"{len(expressions)} rules found" in ran.stdout


@contextmanager
def prometheus(live: Any, folder: Path) -> Iterator[str]:
    """Scrape the running system each second, with the example's configuration and impatient rules."""
    (folder / "token").write_text(token_for(Role.VIEWER))
    (folder / "controlplane.rules.yml").write_text(RULES.read_text().replace("for: 1m\n", "for: 2s\n"))
    config = yaml.safe_load((RULES.parent / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    job, _relay = config["scrape_configs"]
    config["scrape_configs"] = [job]
    job |= {"scheme": "http", "static_configs": [{"targets": [f"127.0.0.1:{live.port}"]}]}
    del config["alerting"]
    (folder / "prometheus.yml").write_text(yaml.safe_dump(config))
    address = f"127.0.0.1:{free_port()}"
    command = ["prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data"]
    with (folder / "prometheus.log").open("wb") as log:
        running = subprocess.Popen(
            [*command, f"--web.listen-address={address}"], cwd=folder, stdout=log, stderr=log
        )
    try:
        yield f"http://{address}"
    finally:
        running.terminate()
        running.wait(20)


def ask(url: str, path: str) -> Any:
    with urllib.request.urlopen(f"{url}/api/v1/{path}", timeout=5) as answer:  # loopback only
        return json.load(answer)["data"]


def firing(url: str) -> set[str]:
    alerts = ask(url, "alerts")["alerts"]
    return {alert["labels"]["alertname"] for alert in alerts if alert["state"] == "firing"}


def is_scraped(url: str) -> bool:
    try:
        return {target["health"] for target in ask(url, "targets")["activeTargets"]} == {"up"}
    except OSError:
        return False


def test_a_stopped_beat_fires_exactly_its_alert_and_resolves(live: Any, tmp_path: Path) -> None:
    with prometheus(live, tmp_path) as url:
        until(lambda: is_scraped(url), 30, (tmp_path / "prometheus.log").read_text)
        until(lambda: bool(ask(url, "query?query=cp_sweep_age_seconds")["result"]), 30, lambda: "no sweep")
        assert firing(url) == set()

        live.beat.send_signal(signal.SIGSTOP)
        until(lambda: bool(firing(url)), 60, lambda: "nothing fires")
        assert firing(url) == {"CpSweepStale"}
        live.beat.send_signal(signal.SIGCONT)
        until(lambda: not firing(url), 60, lambda: str(firing(url)))

        rules = [rule for group in ask(url, "rules")["groups"] for rule in group["rules"]]
        assert {rule["health"] for rule in rules} == {"ok"}
        assert {rule.get("lastError", "") for rule in rules} == {""}
