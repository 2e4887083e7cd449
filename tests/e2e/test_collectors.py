"""Two clusters of the same namespaces and names, each with a collector process, and a running system.

The collectors have a token and no database: an address in their environment would refuse every connection.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.identity.roles import Role
from registry.agent_configs.models import AgentConfig
from registry.agent_configs.source_models import RegisteredCluster
from tests.api.registry.agent_configs.test_registered_clusters import published, register
from tests.integration.registry.agent_configs.publishing.test_publish import text
from tests.support.api_client import Api, token_for
from tests.support.fake_kubernetes import PREFIX, FakeKubernetes
from tests.support.paths import ROOT
from tests.support.waiting import until


class Cluster:
    """A fake cluster, its registration, and its collector."""

    def __init__(self, name: str, url: str, folder: Path) -> None:
        self.name, self.url, self.folder = name, url, folder
        folder.mkdir()
        self.kubernetes = FakeKubernetes(folder / "kubeconfig")
        self.api = register(Api(token_for(Role.ADMIN)), name)
        self.token_file = folder / "token"
        self.token_file.write_text(f"{self.api.token}\n")
        self.log = folder / "collector.log"
        self.processes: list[subprocess.Popen[bytes]] = []

    def start(self) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "registry.agent_configs.sources.collector", "--url", self.url]
        command += ["--cluster", self.name, "--token-file", str(self.token_file)]
        command += ["--kubeconfig", str(self.kubernetes.kubeconfig), "--round-seconds", "1"]
        command += ["--namespace", "acme", "--namespace", "beta"]
        environment = {"PATH": os.environ["PATH"], "DATABASE_URL": "postgresql://nobody@127.0.0.1:1/none"}
        with self.log.open("ab") as log:
            process = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=log, stderr=log)
        self.processes.append(process)
        return process

    def close(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                process.kill()
            process.wait(10)
        self.kubernetes.close()


@pytest.fixture
def clusters(live: Any, tmp_path: Path) -> Iterator[tuple[Cluster, Cluster]]:
    eu, us = (Cluster(name, live.url, tmp_path / name) for name in ("eu", "us"))
    yield eu, us
    eu.close()
    us.close()


def generation(cluster: str) -> int:
    return AgentConfig.objects.get(source=cluster, team="acme", name=f"{PREFIX}sensors").generation


def state_of(cluster: str) -> str:
    items = Api(token_for(Role.ADMIN)).get("agent-config-sources").json()["items"]
    return next(item["state"] for item in items if item["source"] == cluster)


def test_clusters_are_followed_apart_and_the_death_of_a_collector_touches_no_other(clusters):
    eu, us = clusters
    both = {"acme/sensors", "acme/n1", "acme/n2", "acme/n3", "beta/sensors"}
    us.token_file.write_text("wrong")
    for cluster in clusters:
        for place in both:
            namespace, name = place.split("/")
            agent = f"{cluster.name}-{namespace}-{name}"
            cluster.kubernetes.apply(namespace, name, text(agent, agent.replace("-", "_")))
        cluster.start()
    until(lambda: "responded with 401" in us.log.read_text(), 60, us.log.read_text)
    us.token_file.write_text(us.api.token)
    until(lambda: published("eu") == published("us") == both, 60, us.log.read_text)
    until(lambda: len(eu.kubernetes.events) == len(us.kubernetes.events) == 5, 60)
    assert {event["reason"] for event in us.kubernetes.events.values()} == {"Accepted"}

    # One is killed; the other follows a change, and a mass removal waits for a confirmation.
    eu.processes[0].send_signal(signal.SIGKILL)
    eu.processes[0].wait(10)
    for name in ("n1", "n2", "n3"):
        eu.kubernetes.delete("acme", name)
        us.kubernetes.delete("acme", name)
    us.kubernetes.apply("acme", "sensors", text("us-acme-sensors", "us_changed"))
    until(lambda: generation("us") == 2, 60, us.log.read_text)
    # Another one takes over from the killed one, whose lease ended.
    RegisteredCluster.objects.filter(name="eu").update(checked_at="2026-01-01T00:00:00Z")
    eu.start()
    until(lambda: state_of("us") == "awaiting_confirmation", 60, us.log.read_text)
    until(lambda: state_of("eu") == "awaiting_confirmation", 60, eu.log.read_text)
    assert (published("eu"), published("us"), generation("eu")) == (both, both, 1)

    us.processes[0].send_signal(signal.SIGTERM)
    assert us.processes[0].wait(10) == 0
    for cluster in clusters:
        assert cluster.api.token not in cluster.log.read_text()
