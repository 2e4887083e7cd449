"""Plugins from the command line to the files of a machine: a real server, an installer and a repository."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml
from django.db import connections

from cpctl.exits import Exit
from plugin_store.generations import active_folders
from registry.plugin_releases.installer import Installer
from tests.support.api_client import token_for
from tests.support.cpctl_runner import Cpctl
from tests.support.plugin_repository import PluginRepository, plugin_archive, running_repository
from tests.support.plugin_sets import document, entry

SERVER = ("plugins", "install", "-c", "plugin_config.yaml", "--mode", "server", "--yes", "--timeout", "40")
CLIENT = ("plugins", "install", "--mode", "client", "--root", "plugins", "-o", "json")


@pytest.fixture
def repository() -> Iterator[PluginRepository]:
    with running_repository() as repository:
        yield repository


@pytest.fixture
def installer(live: Any, settings: Any, tmp_path: Path) -> Iterator[Installer]:
    """One node, beside the server: both use the same content store."""
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.PLUGIN_ROOT = str(tmp_path / "node")
    settings.PLUGIN_FETCH_GRACE_SECONDS = 1
    installer = Installer("node-a", "0.1.0")

    def run() -> None:
        try:
            installer.run(0.1)
        finally:
            connections.close_all()

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield installer
    finally:
        installer.halted.set()
        thread.join(30)


@pytest.fixture
def cpctl(live: Any, tmp_path: Path) -> Cpctl:
    return Cpctl(tmp_path, live.url, token_for("admin"))


def write_config(cpctl: Cpctl, repository: PluginRepository, **archives: bytes) -> None:
    """Publish archives, and write the configuration that names them."""
    entries = [
        entry("web", name, repository.add(f"{name}.tar.gz", content)) for name, content in archives.items()
    ]
    (cpctl.folder / "plugin_config.yaml").write_text(yaml.safe_dump(document(repository, *entries)))


def finished(output: str) -> dict[str, Any]:
    return dict(json.loads(output.splitlines()[-1]))


def test_a_release_reaches_the_nodes_and_then_a_machine(cpctl, repository, installer):
    write_config(cpctl, repository, bq=plugin_archive("bq"), dbt=plugin_archive("dbt"))

    released = cpctl(*SERVER, "-m", "First")
    first, second = cpctl(*CLIENT), cpctl(*CLIENT)

    assert released.code == Exit.OK, released.err
    assert released.out == "Release 1 is active: 2 plugins.\n"
    assert (finished(first.out)["installed"], first.code) == (["bq", "dbt"], Exit.OK)
    assert (finished(second.out)["unchanged"], finished(second.out)["downloaded"]) == (["bq", "dbt"], 0)
    folders = active_folders(cpctl.folder / "plugins")
    assert (folders["bq"] / "assets/query.sql").read_text() == "select 1;\n"
    assert cpctl("plugins", "verify", "--root", "plugins").code == Exit.OK
    listed = cpctl("plugins", "list", "--mode", "server")
    assert [line.split()[0] for line in listed.lines[1:]] == ["bq", "dbt"]
    assert "1/1" in listed.lines[1]
    asked = len(repository.requests)

    write_config(cpctl, repository, bq=plugin_archive("bq", version="2.0.0"), dbt=plugin_archive("dbt"))
    again = cpctl(*SERVER)
    third = cpctl(*CLIENT)

    assert again.code == Exit.OK, again.err
    assert "~ bq" in again.err
    assert (finished(third.out)["installed"], finished(third.out)["unchanged"]) == (["bq"], ["dbt"])
    assert all("bq" in path for path, _ in repository.requests[asked:])

    back = cpctl("plugins", "rollback", "--mode", "server", "--yes", "--timeout", "40")
    fourth = cpctl(*CLIENT)

    assert (back.code, back.out) == (Exit.OK, "Release 1 is active: 2 plugins.\n"), back.err
    # An older generation of this machine still has it.
    assert (finished(fourth.out)["installed"], finished(fourth.out)["downloaded"]) == (["bq"], 0)


def test_an_interrupted_download_is_continued_at_the_real_server(cpctl, repository, installer):
    content = plugin_archive("bq")
    write_config(cpctl, repository, bq=content)
    assert cpctl(*SERVER).code == Exit.OK
    digest = repository.add("bq.tar.gz", content).removeprefix("sha256:")
    downloads = cpctl.folder / "plugins" / ".cpctl" / "downloads"
    downloads.mkdir(parents=True)
    (downloads / f"{digest}.part").write_bytes(content[:100])

    ran = cpctl("--debug", *CLIENT)

    assert ran.code == Exit.OK, ran.err
    assert "bytes=100-\n< 206" in ran.err
    assert active_folders(cpctl.folder / "plugins").keys() == {"bq"}


def test_a_plugin_that_cannot_be_fetched_is_degraded(cpctl, repository, installer):
    write_config(cpctl, repository, bq=plugin_archive("bq"), dbt=plugin_archive("dbt"))
    del repository.files["dbt.tar.gz"]

    ran = cpctl(*SERVER)

    assert ran.code == Exit.DIFFERS
    assert "dbt is degraded: " in ran.err
    assert finished(cpctl(*CLIENT).out)["installed"] == ["bq"]


def test_who_may_only_read_installs_and_releases_nothing(cpctl, repository, installer):
    write_config(cpctl, repository, bq=plugin_archive("bq"))
    assert cpctl(*SERVER).code == Exit.OK
    cpctl.token = token_for("viewer")

    assert cpctl(*CLIENT).code == Exit.OK
    refused = cpctl("plugins", "rollback", "--mode", "server", "--to", "1", "--yes")

    assert refused.code == Exit.AUTH
    assert cpctl.token not in refused.err


def test_a_lock_and_a_mirror_of_the_real_server(cpctl, repository, installer):
    write_config(cpctl, repository, bq=plugin_archive("bq"))
    assert cpctl(*SERVER).code == Exit.OK

    assert cpctl("plugins", "lock").code == Exit.OK
    assert cpctl("plugins", "lock", "--check").code == Exit.OK
    assert cpctl("plugins", "mirror", "mirror").code == Exit.OK
    assert cpctl(*CLIENT, "--mirror", "mirror", "--locked", CPCTL_SERVER="", CPCTL_TOKEN="").code == Exit.OK
