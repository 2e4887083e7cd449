"""Prometheus and Alertmanager beside a running system, with the examples of the repository and the guide."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import urllib.parse
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import yaml

from controlplane.identity.roles import Role
from tests.nightly.test_prometheus import RULES, ask
from tests.support.api_client import token_for
from tests.support.paths import ROOT

GUIDE = ROOT / "docs/guides/notifications.md"


def example() -> dict[str, Any]:
    """The configuration of Alertmanager that the guide shows."""
    (block,) = re.findall(r"```yaml\n# alertmanager.yml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    document: dict[str, Any] = yaml.safe_load(block)
    return document


@contextmanager
def program(folder: Path, name: str, *command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / f"{name}.log").open("wb") as log:
        # With all of ours: without SECRETS_KEY_FILE, a relay can send nothing.
        every = {**os.environ, **environment}
        running = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=every)
    try:
        yield running
    finally:
        running.send_signal(signal.SIGCONT)
        running.terminate()
        running.wait(30)


def impatient_rules() -> str:
    """The rules, with alerts that wait two seconds, and without those about the speed of this machine."""
    document = yaml.safe_load(RULES.read_text())
    for group in document["groups"]:
        rules = [rule for rule in group["rules"] if rule.get("labels", {}).get("slo") != "effective_reads"]
        group["rules"] = [{**rule, "for": "2s"} if "for" in rule else rule for rule in rules]
    return str(yaml.safe_dump(document))


def write_configurations(folder: Path, live: Any, ports: Mapping[str, int], manager_port: int) -> None:
    """The examples of the repository and the guide, with addresses of this machine and less patience."""
    (folder / "token").write_text(token_for(Role.VIEWER))
    (folder / "notifier").write_text(token_for(Role.NOTIFIER))
    (folder / RULES.name).write_text(impatient_rules())
    prometheus = yaml.safe_load((RULES.parent / "prometheus.yml").read_text())
    # A scrape may take as long as the interval: two busy cores need more than a second for one.
    prometheus["global"] = {"scrape_interval": "5s", "evaluation_interval": "1s"}
    web, processes = prometheus["scrape_configs"]
    web |= {"scheme": "http", "static_configs": [{"targets": [f"127.0.0.1:{live.port}"]}]}
    processes["static_configs"] = [
        {"targets": [f"127.0.0.1:{port}"], "labels": {"process": name}} for name, port in ports.items()
    ]
    managers = [{"static_configs": [{"targets": [f"127.0.0.1:{manager_port}"]}]}]
    prometheus["alerting"]["alertmanagers"] = managers
    (folder / "prometheus.yml").write_text(yaml.safe_dump(prometheus))
    manager = example()
    manager["route"] |= {"group_wait": "1s", "group_interval": "2s", "repeat_interval": "5s"}
    (hook,) = manager["receivers"][0]["webhook_configs"]
    hook["url"] = f"{live.url}/api/v1/alertmanager"
    hook["http_config"]["authorization"]["credentials_file"] = str(folder / "notifier")
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(manager))


def firing(prometheus: str) -> set[str]:
    alerts = ask(prometheus, "alerts")["alerts"]
    found = [alert["labels"] for alert in alerts if alert["state"] == "firing"]
    return {f"{labels['alertname']}{labels.get('slo', '')}" for labels in found}


def query(prometheus: str, expression: str) -> list[Any]:
    found: list[Any] = ask(prometheus, f"query?{urllib.parse.urlencode({'query': expression})}")["result"]
    return found


def scrapes(prometheus: str) -> set[str]:
    try:
        return {target["health"] for target in ask(prometheus, "targets")["activeTargets"]}
    except OSError:
        return set()
