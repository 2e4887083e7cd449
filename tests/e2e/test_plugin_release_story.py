"""Executor, plugin and server are released without each other: what a job's pod is before and after."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import kubernetes_validate
import pytest
import yaml
from django.db import connections

from controlplane import __version__
from cpctl.exits import Exit
from registry.plugin_releases.installer import Installer
from registry.plugin_releases.models import PluginRelease
from tests.support.another_server import another_server
from tests.support.api_client import token_for
from tests.support.cpctl_runner import Cpctl
from tests.support.plugin_repository import PluginRepository, plugin_archive, running_repository
from tests.support.plugin_sets import document, entry

JOB = """version: 2
name: orders.daily
owner: shop-team
schedule: {start_date: "2026-11-01"}
task:
  name: bq
  config: {DAY: "{{.DSTART}}"}
  window: {size: 24h, offset: "0", truncate_to: d}
"""
RENDER = ("jobs", "render", "orders.daily", "-p", "shop", "--scheduled-at", "2026-11-24T02:00:00Z")
INSTALL = ("plugins", "install", "-c", "plugin_config.yaml", "--mode", "server", "--yes", "--timeout", "40")
BOOT_IMAGE, NEXT_BOOT_IMAGE = f"controlplane:{__version__}", "registry.example/controlplane:99.0"


@pytest.fixture
def repository() -> Iterator[PluginRepository]:
    with running_repository() as repository:
        yield repository


@pytest.fixture
def node(live: Any, settings: Any, tmp_path: Path) -> Iterator[Installer]:
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.PLUGIN_ROOT = str(tmp_path / "node")
    node = Installer("node-a", "0.1.0")

    def run() -> None:
        try:
            node.run(0.1)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    yield node
    node.halted.set()
    thread.join(30)


@pytest.fixture
def next_server(live: Any, tmp_path: Path) -> Iterator[str]:
    """The address of a web server of another version, on the same database."""
    with another_server(live, tmp_path, BOOT_INIT_IMAGE=NEXT_BOOT_IMAGE) as url:
        yield url


@pytest.fixture
def cpctl(live: Any, tmp_path: Path) -> Cpctl:
    cpctl = Cpctl(tmp_path, live.url, token_for("admin"))
    (tmp_path / "job.yaml").write_text(JOB)
    return cpctl


def release(cpctl: Cpctl, repository: PluginRepository, *, image: str, path: str) -> str:
    """Write the configuration with one plugin, release it, and return what cpctl says."""
    checksum = repository.add(path, repository.files[path])
    plugin = entry("web", "bq", checksum, config={"executor_image": image}, path=path)
    (cpctl.folder / "plugin_config.yaml").write_text(yaml.safe_dump(document(repository, plugin)))
    ran = cpctl(
        "plugins", "install", "-c", "plugin_config.yaml", "--mode", "server", "--yes", "--timeout", "40"
    )
    assert ran.code == Exit.OK, ran.err
    return ran.out


def images(cpctl: Cpctl) -> tuple[str, str]:
    """The images of the init container and of the executor, in a pod that Kubernetes takes."""
    ran = cpctl(*RENDER)
    assert ran.code == Exit.OK, ran.err
    pod = yaml.safe_load(ran.out)
    kubernetes_validate.validate(pod, "1.35", strict=True)
    (boot,), (executor,) = pod["spec"]["initContainers"], pod["spec"]["containers"]
    return boot["image"], executor["image"]


def downloaded() -> list[int]:
    """Bytes that each release downloaded, in their order."""
    return list(PluginRelease.objects.order_by("number").values_list("downloaded", flat=True))


def test_each_part_is_released_alone(cpctl, repository, node, next_server):
    repository.add("bq-1.tar.gz", plugin_archive("bq"))
    repository.add("bq-2.tar.gz", plugin_archive("bq", version="2.0.0"))
    first, second = "registry.example/bq:1.0", "registry.example/bq:1.1"
    assert cpctl("projects", "create", "shop", "--yes").code == Exit.OK
    assert cpctl("jobs", "apply", "job.yaml", "-p", "shop", "--yes").code == Exit.OK
    assert release(cpctl, repository, image=first, path="bq-1.tar.gz") == "Release 1 is active: 1 plugin.\n"
    assert images(cpctl) == (BOOT_IMAGE, first)
    asked = len(repository.requests)

    # The executor: another image in the configuration. Nothing is downloaded.
    assert release(cpctl, repository, image=second, path="bq-1.tar.gz") == "Release 2 is active: 1 plugin.\n"
    assert images(cpctl) == (BOOT_IMAGE, second)
    assert len(repository.requests) == asked

    # The plugin: another link. That archive alone is downloaded.
    assert release(cpctl, repository, image=second, path="bq-2.tar.gz") == "Release 3 is active: 1 plugin.\n"
    assert images(cpctl) == (BOOT_IMAGE, second)
    assert {path for path, _ in repository.requests[asked:]} == {"bq-2.tar.gz"}

    # The server: its version is that of the init container. No release is made for it.
    cpctl.server = next_server
    assert images(cpctl) == (NEXT_BOOT_IMAGE, second)
    archives = repository.files["bq-1.tar.gz"], repository.files["bq-2.tar.gz"]
    assert downloaded() == [len(archives[0]), 0, len(archives[1])]
