"""Prometheus and Alertmanager beside a loaded system: faults raise alerts, which come back to us.

Needs Debian's packages prometheus and prometheus-alertmanager.
"""

from __future__ import annotations

import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
import pytest
import yaml
from django.db import transaction

from controlplane.database.roles import WEB
from controlplane.delivery.models import Delivery
from controlplane.identity.roles import Role
from controlplane.local.programs import free_port, stop_all
from controlplane.messaging import outbox
from controlplane.notifications.event_types import Step
from controlplane.notifications.models import NotificationCursor
from deploy.grafana.dashboards import DASHBOARDS
from tests.conftest import System, as_application, system_environment
from tests.nightly.monitored_work import (
    Client,
    Repeated,
    Work,
    fail_now_and_then,
    fail_requests,
    locked,
    make_certificate,
    reads,
)
from tests.nightly.monitoring import example, firing, program, query, scrapes, write_configurations
from tests.nightly.test_prometheus import ask
from tests.support.api_client import token_for
from tests.support.beating_agent import BeatingAgent
from tests.support.paths import ROOT
from tests.support.waiting import until
from tests.support.webhook_receiver import running_receiver

# Processes that the test stops for a while: their scrapes fail meanwhile, as they should.
STOPPED = ("outbox", "beat")
# Panels that cannot have data here, and why.
WITHOUT_DATA = {
    "database: Delay of standbys": "Postgres has no standby here.",
    "access: Requests to identity providers": "No identity provider is configured.",
}
pytestmark = pytest.mark.skipif(
    not all(map(shutil.which, ("prometheus", "prometheus-alertmanager", "amtool"))),
    reason="Install Debian's packages prometheus and prometheus-alertmanager.",
)


def test_the_guides_configuration_is_valid(tmp_path: Path) -> None:
    file = tmp_path / "alertmanager.yml"
    file.write_text(yaml.safe_dump(example()))
    ran = subprocess.run(["amtool", "check-config", str(file)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    assert "1 receivers" in ran.stdout


def relay_environment(live: Any, port: int) -> dict[str, str]:
    return {**as_application(live.environment, "relay"), "METRICS_PORT": str(port)}


@dataclass
class Stack:
    live: Any
    client: Client
    prometheus: str
    outbox_relay: subprocess.Popen[bytes]
    messages: Any
    work: Repeated

    def raised(self, state: str) -> list[str]:
        """Names of the alerts that our notifications have in this state."""
        alerts = self.client("GET", f"alerts?state={state}&limit=200")["items"]
        return sorted(alert["title"].partition(":")[0] for alert in alerts)

    def expect(self, name: str, seconds: float, slo: str = "") -> None:
        """Exactly this alert fires, and Alertmanager brings it into our inbox."""
        until(lambda: firing(self.prometheus), seconds, lambda: f"{name} does not fire", pause=0.5)
        assert firing(self.prometheus) == {f"{name}{slo}"}
        until(lambda: set(self.raised("firing")) == {name}, 30, self.explain, pause=0.5)
        until(lambda: self.was_sent(name, Step.TRIGGER), 30, self.explain, pause=0.5)

    def explain(self) -> dict[str, Any]:
        reported = self.client("GET", "events?limit=200")["items"]
        return {
            "events": [(event["seq"], event["type"], event["object_id"]) for event in reported][:20],
            "cursor": list(NotificationCursor.objects.values_list("seq", flat=True)),
            "alerts": self.client("GET", "alerts?limit=200")["items"],
            "deliveries": list(Delivery.objects.values_list("state", "last_error")[:20]),
            "messages": [received.event["data"]["subject"] for received in self.messages.received],
        }

    def expect_end(self, name: str, seconds: float) -> None:
        until(lambda: firing(self.prometheus) == set(), seconds, lambda: firing(self.prometheus), pause=0.5)
        until(lambda: self.raised("firing") == [], 60, lambda: self.raised("firing"), pause=0.5)
        assert name in self.raised("resolved")
        until(lambda: self.was_sent(name, Step.RESOLVE), 60, self.explain, pause=0.5)

    def was_sent(self, name: str, step: Step) -> bool:
        """Whether the receiver of our channel was told so."""
        sent = [received.event["data"] for received in self.messages.received]
        return any(name in data["subject"] + data["text"] and data["step"] == step for data in sent)


@pytest.fixture
def ports() -> dict[str, int]:
    """Where each process other than the web server is scraped."""
    return {name: free_port() for name in ("worker", "beat", "flyte-grpc", "relay", "outbox")}


@pytest.fixture
def live(services: Any, transactional_db: None, tmp_path: Path, ports: Mapping[str, int]) -> Iterator[System]:
    """A system as in production: each group of processes counts for itself, and leases are not short.

    On a busy machine, a lease of three seconds runs out.
    """
    certificate, key = make_certificate(tmp_path)
    environment = {
        **system_environment(services),
        **{"HEARTBEAT_INTERVAL_SECONDS": "10", "LEASE_SECONDS": "60"},
        **{"FLYTE_EVENTS": "store", "ARCHIVE_URL": str(tmp_path / "archive")},
    }
    of_process = {name: {"METRICS_PORT": str(port)} for name, port in ports.items()}
    of_process["flyte-grpc"] |= {"FLYTE_GRPC_TLS_CERT": str(certificate), "FLYTE_GRPC_TLS_KEY": str(key)}
    for name in ("web", "worker"):
        (tmp_path / f"metrics-{name}").mkdir()
        of_process.setdefault(name, {})["PROMETHEUS_MULTIPROC_DIR"] = str(tmp_path / f"metrics-{name}")
    system = System(environment, tmp_path, of_process=of_process)
    try:
        system.wait_until_ready()
        yield system
    finally:
        system.beat.send_signal(signal.SIGCONT)
        stop_all(system.running, patience=5)


@pytest.fixture
def stack(live: Any, tmp_path: Path, ports: Mapping[str, int]) -> Iterator[Stack]:
    """The system with two relays, Prometheus and Alertmanager, under load, with a rule and its channel."""
    client = Client(live.url, token_for(Role.ADMIN))
    manager_port, prometheus_port = free_port(), free_port()
    write_configurations(tmp_path, live, ports, manager_port)
    manage = (sys.executable, str(ROOT / "manage.py"), "relay")
    rest = "events,notifications,deliveries,answers,statuses,health,advisories,monitor"
    with ExitStack() as running, running_receiver() as messages:
        start = lambda *command, **env: running.enter_context(program(tmp_path, *command, **env))  # noqa: E731
        running.enter_context(standbys_seen(live))
        only_outbox = start("outbox", *manage, "--only", "outbox", **relay_environment(live, ports["outbox"]))
        start("relay", *manage, "--only", rest, **relay_environment(live, ports["relay"]))
        start(
            "alertmanager", "prometheus-alertmanager", "--config.file=alertmanager.yml",
            "--storage.path=manager", "--cluster.listen-address=",
            f"--web.listen-address=127.0.0.1:{manager_port}",
        )  # fmt: skip
        client("POST", "scopes/projects", {"id": "ads"})
        notify(client, messages.url)
        agent = BeatingAgent(live.url, client.token)
        agent.start()
        running.callback(agent.stopping.set)
        work = Repeated(Work(client, live.grpc_port, tmp_path / "grpc.crt"), pause=1)
        for repeated in (work, Repeated(reads(client), pause=0.02)):
            repeated.start()
            running.callback(repeated.stop)
        url = f"http://127.0.0.1:{prometheus_port}"
        start(
            "prometheus", "prometheus", "--config.file=prometheus.yml", "--storage.tsdb.path=data",
            f"--web.listen-address=127.0.0.1:{prometheus_port}",
        )  # fmt: skip
        until(lambda: scrapes(url) == {"up"}, 60, (tmp_path / "prometheus.log").read_text, pause=0.5)
        yield Stack(live, client, url, only_outbox, messages, work)


@contextmanager
def standbys_seen(live: Any) -> Iterator[None]:
    """Web servers may ask Postgres for its standbys, as docs/operations.md says."""
    with psycopg.connect(live.environment["DATABASE_URL"], autocommit=True) as administrator:
        administrator.execute(f"GRANT pg_read_all_stats TO {WEB}")
        try:
            yield
        finally:
            administrator.execute(f"REVOKE pg_read_all_stats FROM {WEB}")


def notify(client: Client, url: str) -> None:
    """Have what Alertmanager reports sent to a webhook at once."""
    channel = client(
        "POST", "notification-channels", {"name": "here", "kind": "webhook", "config": {"url": url}}
    )
    rule = {
        "name": "from Alertmanager",
        "when": {"types": ["alertmanager.firing"]},
        "to": [channel["id"]],
        "mode": "paged",
        "subject": "{{ data.name }}: {{ data.annotations.summary }}",
    }
    client("POST", "notification-rules", rule)


def test_faults_raise_their_alerts_which_come_back_to_us_and_end(stack: Stack) -> None:
    until(lambda: bool(query(stack.prometheus, "cp_sweep_age_seconds")), 60, lambda: "no sweep")
    # Before the first scrape, whatever is absent raises an alert.
    until(lambda: not firing(stack.prometheus), 60, lambda: firing(stack.prometheus), pause=0.5)
    until(lambda: not stack.raised("firing"), 60, stack.explain, pause=0.5)
    began = time.monotonic()

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

    check_members(stack)
    with locked(stack.live.environment["DATABASE_URL"], "registry_job"):
        fail_requests(stack.client, 90)
        stack.expect("CpErrorBudgetBurn", 60, slo="api_availability")
    # It ends when the last five minutes are good again, for which nobody waits here.

    fail_now_and_then(stack.client, stack.live.environment["NATS_URL"])
    time.sleep(max(30.0, 180 - (time.monotonic() - began)))
    assert stack.work.is_alive(), "A round of the work was not answered as it should be."
    check_panels(stack.prometheus)
    check_scrapes(stack.prometheus, int(time.monotonic() - began))
    print(f"messages to people: {len(stack.messages.received)}, rounds disturbed: {len(stack.work.errors)}")
    print("\n".join(sorted(set(stack.work.errors))))


def check_scrapes(prometheus: str, lasted: int) -> None:
    """No scrape has failed but those of processes that the test itself has stopped, and no rule fails."""
    failed = query(prometheus, f'count_over_time((up{{process!~"{"|".join(STOPPED)}"}} == 0)[{lasted}s:1s])')
    assert failed == [], "scrapes failed"
    number = query(prometheus, f"sum(count_over_time(up[{lasted}s]))")[0]["value"][1]
    slowest = query(prometheus, f"max(max_over_time(scrape_duration_seconds{{process=''}}[{lasted}s]))")
    samples = query(prometheus, f"max(max_over_time(scrape_samples_scraped[{lasted}s]))")[0]["value"][1]
    assert int(samples) < 5_000
    rules = [rule for group in ask(prometheus, "rules")["groups"] for rule in group["rules"]]
    assert {rule["health"] for rule in rules} == {"ok"}
    print(f"{lasted} s, {number} scrapes, {samples} samples at most, {len(rules)} rules")
    print(f"slowest scrape of the web server: {slowest[0]['value'][1]} s")


def check_panels(prometheus: str) -> None:
    """Every query of every dashboard has data, but those that cannot have any here."""
    queries = [
        (f"{dashboard.name.removeprefix('controlplane-')}: {panel.title}", one.expr)
        for dashboard in DASHBOARDS
        for panel in dashboard.panels
        for one in panel.queries
    ]
    empty = {
        title for title, expr in queries if not query(prometheus, expr.replace("$__rate_interval", "1m"))
    }
    print(f"{len(queries)} queries of panels, without data: {sorted(empty)}")
    assert empty == WITHOUT_DATA.keys()


def check_members(stack: Stack) -> None:
    """Every process tells of itself, and a killed one is gone after a minute."""
    members = stack.client("GET", "meta")["members"]
    kinds = sorted(one["process"] for one in members["items"] if not one["is_gone"])
    assert members["skew"] == "ok"
    assert set(kinds) == {"beat", "flyte-grpc", "relay", "web", "worker"}
    assert (kinds.count("web"), kinds.count("relay")) == (2, 2)
