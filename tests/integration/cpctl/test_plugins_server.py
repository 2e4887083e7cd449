"""`cpctl plugins` in server mode, and the examples of its help, against a server as the API describes it."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest

from cpctl.exits import Exit
from cpctl.lazy import build
from tests.support.cpctl_in_process import CpctlInProcess
from tests.support.plugin_server import TOKEN, PluginServer, packed, running_plugin_server

CHECKSUM = "sha256:" + "5" * 64
CONFIG = f"plugins:\n  plugins:\n  - output: bq2bq\n    checksum: {CHECKSUM}\n"
INSTALL = ("plugins", "install", "-c", "plugin_config.yaml", "--mode", "server", "--yes")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[PluginServer]:
    with running_plugin_server() as server:
        server.publish(packed("bq2bq", "1.4.0", tmp_path / "packed"))
        yield server


@pytest.fixture
def cpctl(server: PluginServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[CpctlInProcess]:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setattr("cpctl.plugins.server_mode._PAUSE_SECONDS", 0.01)
    Path("plugin_config.yaml").write_text(CONFIG)
    with CpctlInProcess(tmp_path / "here", server.url, TOKEN) as cpctl:
        yield cpctl


def made(server: PluginServer) -> list[tuple[str, str]]:
    """The requests that change something."""
    changes = [one for one in server.requests if one.method != "GET" and "validate" not in one.path]
    return [(one.method, one.path.removeprefix("/api/v1/")) for one in changes]


def test_it_sends_the_configuration_and_waits_until_the_release_is_active(server, cpctl):
    ran = cpctl(*INSTALL, "-m", "New image", "--min-active", "2")

    assert ran.code == Exit.OK, ran.err
    assert made(server) == [("PUT", "plugin-config"), ("POST", "plugin-releases")]
    assert server.releases[0]["message"] == "New image"
    assert ran.out == "Release 1 is active: 1 plugin.\n"
    for line in ("+ bq2bq", "Configuration 1 is stored.", "release 1: ready", "node node-1: active"):
        assert line in ran.err.splitlines()


def test_the_current_version_is_replaced_and_an_equal_one_is_not_sent_again(server, cpctl):
    cpctl(*INSTALL)
    same = cpctl(*INSTALL)
    Path("plugin_config.yaml").write_text(CONFIG + "  # changed\n")
    other = cpctl(*INSTALL)

    puts = [one for one in server.requests if one.method == "PUT"]
    assert (same.code, other.code) == (Exit.OK, Exit.OK)
    assert [one.headers.get("If-Match") for one in puts] == [None, '"1"']
    assert puts[0].headers["If-None-Match"] == "*"
    assert [release["state"] for release in server.releases] == ["superseded", "superseded", "active"]


def test_events_as_json(server, cpctl):
    ran = cpctl(*INSTALL, "-o", "json")

    events = [json.loads(line) for line in ran.out.splitlines()]
    assert [event["event"] for event in events][:2] == ["change", "configuration"]
    assert events[-1]["event"] == "finished"
    assert events[-1]["release"]["state"] == "active"
    assert {"event": "release", "name": "1", "state": "ready"} in events


@pytest.mark.parametrize(
    ("states", "code", "text"),
    [
        ({"state": "failed"}, Exit.DIFFERS, "Release 1 failed."),
        ({"state": "superseded"}, Exit.CONFLICT, "Another release became active"),
        ({"state": "resolving"}, Exit.TIMEOUT, "0 of 1 nodes have it"),
        (
            {"plugins": [{"name": "bq2bq", "state": "degraded", "problem": "404 from artifacts"}]},
            Exit.DIFFERS,
            "bq2bq is degraded: 404 from artifacts",
        ),
    ],
)
def test_a_release_that_does_not_become_active(server, cpctl, states, code, text):
    server.states = states

    ran = cpctl(*INSTALL, "--timeout", "0.2")

    assert ran.code == code
    assert text in ran.err


def test_an_invalid_configuration_changes_nothing(server, cpctl):
    Path("plugin_config.yaml").write_text("plugins: {}\n")

    ran = cpctl(*INSTALL)

    assert ran.code == Exit.USAGE
    assert "plugin_config.yaml:1:1: error: There are no plugins." in ran.err
    assert made(server) == []


def test_locked_requires_checksums(server, cpctl):
    Path("plugin_config.yaml").write_text("plugins:\n  plugins:\n  - output: bq2bq\n")

    ran = cpctl(*INSTALL, "--locked")

    assert ran.code == Exit.USAGE
    assert "have no checksum" in ran.err
    assert made(server) == []


def test_a_dry_run_stores_nothing_and_asks_nothing(server, cpctl):
    ran = cpctl(*INSTALL[:-1], "--dry-run")

    assert ran.code == Exit.OK, ran.err
    assert "+ bq2bq" in ran.err
    assert (server.configs, server.releases) == ({}, [])


def test_it_asks_before_it_changes_anything(server, cpctl):
    ran = cpctl(*INSTALL[:-1])

    assert ran.code == Exit.USAGE
    assert made(server) == []


def test_a_manual_release_is_activated_later(server, cpctl):
    ready = cpctl(*INSTALL, "--manual")
    state = server.releases[0]["state"]
    active = cpctl("plugins", "releases", "activate", "1", "--yes")

    assert (ready.code, state, active.code) == (Exit.OK, "ready", Exit.OK), active.err
    assert "cpctl plugins releases activate 1" in ready.err
    assert server.releases[0]["state"] == "active"


def test_roll_back_to_the_release_before_and_to_a_number(server, cpctl):
    for _ in range(3):
        cpctl(*INSTALL)

    before = cpctl("plugins", "rollback", "--mode", "server", "--yes")
    states = [release["state"] for release in server.releases]
    first = cpctl("plugins", "rollback", "--mode", "server", "--to", "1", "--yes")
    unknown = cpctl("plugins", "rollback", "--mode", "server", "--to", "9", "--yes")

    assert (before.code, states) == (Exit.OK, ["superseded", "active", "superseded"])
    assert (first.code, server.releases[0]["state"]) == (Exit.OK, "active")
    assert (unknown.code, unknown.err.splitlines()[0]) == (Exit.NOT_FOUND, "error: There is no release 9.")


@pytest.mark.parametrize(
    ("arguments", "text"),
    [
        (("install", "-c", "plugin_config.yaml"), "The mode is missing"),
        (("install", "-c", "plugin_config.yaml", "--mode", "both"), "Unknown mode 'both'"),
        (("install", "-c", "plugin_config.yaml", "--mode", "client"), "-c does not work in client mode"),
        (("install", "--mode", "client", "--manual"), "--manual does not work in client mode"),
        (("install", "--mode", "server", "--mirror", "x"), "--mirror does not work in server mode"),
        (("install", "--mode", "client", "--mirror", "x"), "no server says where"),
        (("install", "--mode", "client", "-o", "yaml"), "use -o json"),
        (("lock", "bq2bq"), "Names of plugins need --upgrade"),
        (("lock", "--check", "--upgrade"), "--check changes nothing"),
        (("clean", "--all", "--unused"), "either --unused or --all"),
        (("verify", "--root", "nowhere"), "No plugins are installed"),
    ],
)
def test_mistakes_are_explained_before_anything_is_sent(server, cpctl, arguments, text):
    ran = cpctl("plugins", *arguments)

    assert ran.code == Exit.USAGE
    assert text in ran.err
    assert server.requests == []


def test_the_mode_of_the_context_and_of_the_environment(server, cpctl):
    cpctl("config", "set-context", "here", "--server", server.url, "--plugin-mode", "client")
    cpctl.server = ""

    of_context = cpctl("plugins", "install", "-c", "plugin_config.yaml")
    of_variable = cpctl("plugins", "install", "-c", "plugin_config.yaml", "--yes", CPCTL_PLUGIN_MODE="server")

    assert "-c does not work in client mode" in of_context.err
    assert of_variable.code == Exit.OK, of_variable.err
    assert cpctl("config", "set-context", "here", "--plugin-mode", "x").code == Exit.USAGE


def test_every_example_of_the_help_works(server, cpctl, tmp_path):
    """Also by the other name of the commands."""
    (cpctl.folder / "token").write_text(TOKEN)
    for name in ("staging", "production"):
        cpctl("config", "set-context", name, "--server", server.url, "--token-file", "token")
    for _ in range(2):
        assert cpctl(*INSTALL).code == Exit.OK
    server.publish(packed("bq2bq", "1.5.0", tmp_path / "packed"))
    for path in ("optimus-plugin-bq2bq.yaml", "optimus-plugin-transporter.yaml", "artifacts.token"):
        Path(path).write_text(CONFIG)
    commands = build("plugins").commands
    for group in ("releases", "config", "secrets"):
        commands |= {f"{group} {name}": one for name, one in commands.pop(group).commands.items()}
    lines = [
        (name, line.strip())
        for name, command in commands.items()
        for line in (command.help or "").splitlines()
        if line.strip().startswith("cpctl ")
    ]
    assert len(lines) >= len(commands)

    # The other commands are about what was installed, and the third release can be canceled.
    for name, line in sorted(lines, key=lambda entry: entry[0] not in ("install", "lock")):
        if name == "releases cancel":
            server.releases[2]["state"] = "ready"
        words = shlex.split(line)[1:]
        asks = any("--yes" in option.opts for option in commands[name].params)
        ran = cpctl("plugin", *words[1:], *(["--yes"] if asks else []))
        assert ran.code == Exit.OK, (line, ran.err)


def test_the_list_of_the_server(server, cpctl):
    listed = cpctl("plugins", "list", "--mode", "server")

    titles = ["NAME", "TEAM", "VERSION", "PROVIDER", "STATE", "DIGEST", "NODES", "JOBS", "UPDATE"]
    assert listed.lines[0].split() == titles
    assert listed.lines[1].split()[:2] == ["bq2bq", "1.4.0"]
    assert listed.lines[1].split()[-2:] == ["1/1", "2"]
