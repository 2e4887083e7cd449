"""Prometheus and Alertmanager beside a loaded system: faults raise alerts, which come back to us.

Needs Debian's packages prometheus and prometheus-alertmanager.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from django.db import transaction

from controlplane.identity.roles import Role
from controlplane.local.programs import free_port, stop_all
from controlplane.messaging import outbox
from controlplane.notifications.models import NotificationCursor
from deploy.grafana.dashboards import DASHBOARDS
from tests.conftest import System, system_environment
from tests.nightly.test_prometheus import RULES, ask
from tests.support.api_client import token_for
from tests.support.beating_agent import BeatingAgent
from tests.support.paths import ROOT
from tests.support.waiting import until
from tests.support.webhook_receiver import running_receiver

GUIDE = ROOT / "docs/guides/notifications.md"
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("prometheus", "prometheus-alertmanager", "amtool"))),
    reason="Install Debian's packages prometheus and prometheus-alertmanager.",
)


def example() -> dict[str, Any]:
    """The configuration of Alertmanager that the guide shows."""
    (block,) = re.findall(r"```yaml\n# alertmanager.yml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    document: dict[str, Any] = yaml.safe_load(block)
    return document


def test_the_guides_configuration_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "alertmanager.yml"
    file.write_text(yaml.safe_dump(example()))
    ran = subprocess.run(["amtool", "check-config", str(file)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 receivers" in ran.stdout


@dataclass
class Client:
    """Requests with one token, as a program sends them."""

    url: str
    token: str

    def __call__(self, method: str, path: str, body: Any = None) -> Any:
        request = urllib.request.Request(
            f"{self.url}/api/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=30) as answer:
            return json.loads(answer.read() or b"null")


class Load(threading.Thread):
    """Reads and writes until the block ends, with pauses: the machine has two cores."""

    def __init__(self, client: Client, paths: list[str]) -> None:
        super().__init__(daemon=True)
        self.client, self.paths = client, paths
        self.stopping = threading.Event()
        self.sent = 0

    def run(self) -> None:
        number = 0
        while not self.stopping.wait(0.02):
            number += 1
            try:
                self.client("GET", self.paths[number % len(self.paths)])
                if number % 50 == 0:
                    body = {"attributes": {"limits": {"cpu": str(number % 7 + 1)}}}
                    self.client("PUT", "overrides/task_resource?project=ads", body)
            except OSError:
                pass
            self.sent += 1


@contextmanager
def program(folder: Path, name: str, *command: str, **environment: str) -> Iterator[subprocess.Popen[bytes]]:
    with (folder / f"{name}.log").open("wb") as log:
        running = subprocess.Popen(command, cwd=folder, stdout=log, stderr=log, env=environment or None)
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


def write_configurations(folder: Path, live: Any, relay_port: int, manager_port: int) -> None:
    """The examples of the repository and the guide, with addresses of this machine and less patience."""
    (folder / "token").write_text(token_for(Role.VIEWER))
    (folder / "notifier").write_text(token_for(Role.NOTIFIER))
    (folder / RULES.name).write_text(impatient_rules())
    prometheus = yaml.safe_load((RULES.parent / "prometheus.yml").read_text())
    prometheus["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    web, relay = prometheus["scrape_configs"]
    web |= {"scheme": "http", "static_configs": [{"targets": [f"127.0.0.1:{live.port}"]}]}
    relay |= {"static_configs": [{"targets": [f"127.0.0.1:{relay_port}"]}]}
    managers = [{"static_configs": [{"targets": [f"127.0.0.1:{manager_port}"]}]}]
    prometheus["alerting"]["alertmanagers"] = managers
    (folder / "prometheus.yml").write_text(yaml.safe_dump(prometheus))
    manager = example()
    manager["route"] |= {"group_wait": "1s", "group_interval": "2s", "repeat_interval": "5s"}
    (hook,) = manager["receivers"][0]["webhook_configs"]
    hook["url"] = f"{live.url}/api/v1/alertmanager"
    hook["http_config"]["authorization"]["credentials_file"] = str(folder / "notifier")
    (folder / "alertmanager.yml").write_text(yaml.safe_dump(manager))


def environment_of(live: Any, **changed: str) -> dict[str, str]:
    return {**live.environment, **changed}


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


@dataclass
class Stack:
    live: Any
    client: Client
    prometheus: str
    outbox_relay: subprocess.Popen[bytes]
    messages: Any

    def raised(self, state: str) -> list[str]:
        """Names of the alerts that our notifications have in this state."""
        alerts = self.client("GET", f"alerts?state={state}&limit=200")["items"]
        return sorted(alert["title"].partition(":")[0] for alert in alerts)

    def expect(self, name: str, seconds: float, slo: str = "") -> None:
        """Exactly this alert fires, and Alertmanager brings it into our inbox."""
        until(lambda: firing(self.prometheus), seconds, lambda: f"{name} does not fire", pause=0.5)
        assert firing(self.prometheus) == {f"{name}{slo}"}
        until(lambda: set(self.raised("firing")) == {name}, 30, self.explain, pause=0.5)

    def explain(self) -> dict[str, Any]:
        reported = self.client("GET", "events?limit=200")["items"]
        return {
            "events": [(event["seq"], event["type"], event["object_id"]) for event in reported][:20],
            "cursor": list(NotificationCursor.objects.values_list("seq", flat=True)),
            "alerts": self.client("GET", "alerts?limit=200")["items"],
        }

    def expect_end(self, name: str, seconds: float) -> None:
        until(lambda: firing(self.prometheus) == set(), seconds, lambda: firing(self.prometheus), pause=0.5)
        until(lambda: self.raised("firing") == [], 60, lambda: self.raised("firing"), pause=0.5)
        assert name in self.raised("resolved")


@pytest.fixture
def live(services: Any, transactional_db: None, tmp_path: Path) -> Iterator[System]:
    """A system whose agents have usual leases: on a busy machine, a lease of three seconds runs out."""
    metrics = tmp_path / "metrics"
    metrics.mkdir()
    patient = {"HEARTBEAT_INTERVAL_SECONDS": "10", "LEASE_SECONDS": "60"}
    environment = {**system_environment(services), **patient, "PROMETHEUS_MULTIPROC_DIR": str(metrics)}
    system = System(environment, tmp_path)
    try:
        system.wait_until_ready()
        yield system
    finally:
        system.beat.send_signal(signal.SIGCONT)
        stop_all(system.running, patience=5)


@pytest.fixture
def stack(live: Any, tmp_path: Path) -> Iterator[Stack]:
    """The system with two relays, Prometheus and Alertmanager, under load, with a rule and its channel."""
    client = Client(live.url, token_for(Role.ADMIN))
    relay_port, manager_port, prometheus_port = free_port(), free_port(), free_port()
    write_configurations(tmp_path, live, relay_port, manager_port)
    manage = (sys.executable, str(ROOT / "manage.py"), "relay")
    rest = "events,notifications,deliveries,answers,statuses,health,advisories,monitor"
    with ExitStack() as running, running_receiver() as messages:
        start = lambda *command, **env: running.enter_context(program(tmp_path, *command, **env))  # noqa: E731
        only_outbox = start("outbox", *manage, "--only", "outbox", **environment_of(live))
        start("relay", *manage, "--only", rest, **environment_of(live, RELAY_PORT=str(relay_port)))
        start(
            "alertmanager", "prometheus-alertmanager", "--config.file=alertmanager.yml",
            "--storage.path=manager", "--cluster.listen-address=",
            f"--web.listen-address=127.0.0.1:{manager_port}",
        )  # fmt: skip
        client("POST", "scopes/projects", {"id": "ads"})
        hook = {"name": "here", "kind": "webhook", "config": {"url": messages.url}}
        channel = client("POST", "notification-channels", hook)
        rule = {
            "name": "from Alertmanager",
            "when": {"types": ["alertmanager.firing"]},
            "to": [channel["id"]],
            "mode": "paged",
            "subject": "{{ data.name }}: {{ data.annotations.summary }}",
        }
        client("POST", "notification-rules", rule)
        agent = BeatingAgent(live.url, client.token)
        agent.start()
        running.callback(agent.stopping.set)
        effective = "overrides/effective?project=ads&domain=development"
        load = Load(client, ["agents", effective, "overrides", "events", "me", effective, "pools"])
        load.start()
        running.callback(load.stopping.set)
        url = f"http://127.0.0.1:{prometheus_port}"
        start(
            "prometheus", "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
            f"--web.listen-address=127.0.0.1:{prometheus_port}",
        )  # fmt: skip
        until(lambda: scrapes(url) == {"up"}, 60, (tmp_path / "prometheus.log").read_text, pause=0.5)
        yield Stack(live, client, url, only_outbox, messages)


def test_faults_raise_their_alerts_which_come_back_to_us_and_end(stack: Stack) -> None:
    until(lambda: bool(query(stack.prometheus, "cp_sweep_age_seconds")), 60, lambda: "no sweep")
    began = time.monotonic()
    assert firing(stack.prometheus) == set()
    assert stack.raised("firing") == []

    stack.outbox_relay.send_signal(signal.SIGSTOP)
    with transaction.atomic():
        outbox.put([outbox.Outgoing("dcm.agent.heard", "lane", "lane-1", "lane.test", "lane", {})])
    stack.expect("CpOutboxOld", 120)
    stack.outbox_relay.send_signal(signal.SIGCONT)
    stack.expect_end("CpOutboxOld", 60)

    stack.live.beat.send_signal(signal.SIGSTOP)
    stack.expect("CpSweepStale", 90)
    stack.live.beat.send_signal(signal.SIGCONT)
    stack.expect_end("CpSweepStale", 60)

    check_panels(stack.prometheus)
    check_members(stack)
    with locked(stack.live, "registry_job"):
        fail_requests(stack.client, 90)
        stack.expect("CpErrorBudgetBurn", 60, slo="api_availability")
    # It ends when the last five minutes are good again, for which nobody waits here.

    time.sleep(max(0.0, 180 - (time.monotonic() - began)))
    lasted = int(time.monotonic() - began)
    assert query(stack.prometheus, f"min(min_over_time(up[{lasted}s]))")[0]["value"][1] == "1", (
        "scrapes failed"
    )
    samples = query(stack.prometheus, f"max(max_over_time(scrape_samples_scraped[{lasted}s]))")[0]["value"][1]
    assert int(samples) < 5_000
    rules = [rule for group in ask(stack.prometheus, "rules")["groups"] for rule in group["rules"]]
    assert {rule["health"] for rule in rules} == {"ok"}
    print(f"{lasted} s, {samples} samples at most, alerts sent: {len(stack.messages.received)}")


def check_panels(prometheus: str) -> None:
    """Most queries of the dashboards have data here, and the others are printed."""
    queries = [
        (f"{dashboard.name}: {panel.title}", one.expr)
        for dashboard in DASHBOARDS
        for panel in dashboard.panels
        for one in panel.queries
    ]
    empty = [
        title for title, expr in queries if not query(prometheus, expr.replace("$__rate_interval", "1m"))
    ]
    print(f"{len(empty)} of {len(queries)} queries without data here: {'; '.join(empty)}")
    assert len(empty) < len(queries) / 2


def check_members(stack: Stack) -> None:
    """Every process tells of itself, and a killed one is gone after a minute."""
    members = stack.client("GET", "meta")["members"]
    kinds = sorted(one["process"] for one in members["items"] if not one["is_gone"])
    assert members["skew"] == "ok"
    assert set(kinds) == {"beat", "flyte-grpc", "relay", "web", "worker"}
    assert (kinds.count("web"), kinds.count("relay")) == (2, 2)


@contextmanager
def locked(live: Any, table: str) -> Iterator[None]:
    with psycopg.connect(live.environment["DATABASE_URL"]) as holder:
        holder.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        yield


def fail_requests(client: Client, number: int) -> None:
    """Ask for what is locked, with several questions at once: each is answered with 503 after two seconds."""
    codes: list[int] = []

    def ask_once() -> None:
        try:
            client("GET", "jobs?project=ads")
        except urllib.error.HTTPError as error:
            codes.append(error.code)

    for _ in range(number // 10):
        threads = [threading.Thread(target=ask_once) for _ in range(10)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert set(codes) == {503}
