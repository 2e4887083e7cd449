"""Commands that are found by their name: verbs, extensions, global options after the command."""

from __future__ import annotations

import re

import pytest

from cpctl import extensions, verbs
from cpctl.errors import UsageError
from cpctl.kinds import KINDS, kind_named
from cpctl.lazy import COMMANDS, build
from cpctl.session import SESSION
from cpctl.version_skew import server_version, skew
from tests.support.cpctl_in_process import CpctlInProcess
from tests.support.cpctl_runner import Cpctl


@pytest.fixture
def path(tmp_path, monkeypatch):
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("cpctl-hello", "cpctl-hello-world", "cpctl-get"):
        (folder / name).write_text(f'#!/bin/sh\necho {name} "$@" "[$CPCTL_CONTEXT]"\nexit 9\n')
        (folder / name).chmod(0o755)
    (folder / "cpctl-notes").write_text("not a program")
    monkeypatch.setenv("PATH", str(folder))
    return folder


@pytest.mark.parametrize(
    ("words", "name", "taken"),
    [
        (["hello"], "cpctl-hello", 1),
        (["hello", "world", "x"], "cpctl-hello-world", 2),
        (["hello", "there"], "cpctl-hello", 1),
        (["hello", "-x", "world"], "cpctl-hello", 1),
        (["notes"], "", 0),
        (["../bin/cpctl-hello"], "", 0),
        (["absent"], "", 0),
        ([], "", 0),
    ],
)
def test_the_longest_name_is_the_extension(path, words, name, taken):
    program, count = extensions.program_of(words)

    assert (program.rpartition("/")[2], count) == (name, taken)


def test_an_extension_gets_its_words_and_the_context_and_has_its_own_exit_code(path, tmp_path):
    cpctl = Cpctl(tmp_path, environment={"PATH": str(path)})
    ran = cpctl("--context", "prod", "hello", "a", "--help", "-q")

    assert (ran.out, ran.code) == ("cpctl-hello a --help -q [prod]\n", 9)
    assert "notes" not in extensions.installed()
    # A command of cpctl goes before an extension of its name.
    assert "Usage: cpctl get" in cpctl("get", "--help").out
    assert re.search(r"Extensions:\n +hello +The program cpctl-hello\.\n", cpctl("--help").out)
    assert cpctl("helo").code == 2


def test_every_kind_of_a_verb_has_a_command():
    names = {kind.name for kind in KINDS}
    for places in (verbs.CREATE, verbs.DELETE):
        assert set(places) <= names
        for group, *path in places.values():
            command = build(group)
            for name in path:
                command = command.commands[name]
            assert command.callback


@pytest.mark.parametrize(
    ("line", "usage"),
    [
        ("create project", "cpctl create project [OPTIONS]"),
        ("delete rails", "cpctl delete rails [OPTIONS]"),
        ("delete token", "cpctl delete token [OPTIONS]"),
        ("teams ls", "cpctl teams ls [OPTIONS]"),
        ("sinks describe", "cpctl sinks describe [OPTIONS]"),
        ("agents join-tokens ls", "cpctl agents join-tokens ls [OPTIONS]"),
        ("teams rm", "cpctl teams rm [OPTIONS]"),
    ],
)
def test_verbs_are_the_commands_of_their_kind(tmp_path, line, usage):
    ran = CpctlInProcess(tmp_path)(*line.split(), "--help")

    assert usage in ran.out, ran.out + ran.err


@pytest.mark.parametrize(
    ("line", "message"), [("delete audit", "audit cannot be deleted"), ("delete x", "Kinds:")]
)
def test_a_kind_without_the_verb_is_named(tmp_path, line, message):
    ran = CpctlInProcess(tmp_path)(*line.split())

    assert (ran.code, message in ran.err) == (2, True)


def test_every_command_takes_the_global_options():
    def leaves(command):
        below = getattr(command, "commands", {})
        return [leaf for each in below.values() for leaf in leaves(each)] or [command]

    wanted = {"-q", "--quiet", "--no-input", "--debug", "--context", "--server", "--token-file", "--color"}
    for name in COMMANDS:
        if name not in ("create", "delete"):
            for leaf in leaves(build(name)):
                assert wanted <= {option for param in leaf.params for option in param.opts}, (name, leaf.name)


def test_global_options_work_after_the_command_and_are_checked(tmp_path):
    cpctl = CpctlInProcess(tmp_path)
    assert cpctl("version", "--client", "-q", "--color", "never", "--server", "http://x").code == 0
    assert (SESSION.quiet, SESSION.color, SESSION.server) == (True, "never", "http://x")
    assert cpctl("-q", "version", "--client").code == 0
    assert SESSION.quiet
    assert cpctl("version", "--client", "--color", "pink").code == 2
    assert cpctl("version", "--client", "--help").out.count("--context") == 0


@pytest.mark.parametrize(
    ("client", "server", "warns"),
    [
        ("0.1.0", "0.1.9", False),
        ("0.1.0", "0.2.0", False),
        ("0.3.0", "0.2.0", False),
        ("0.1.0", "0.3.0", True),
        ("0.3.0", "0.1.0", True),
        ("1.0.0", "2.0.0", True),
        ("1.4", "v1.5.2-rc1", False),
        ("0.1.0", "", False),
        ("0.1.0", "unknown", False),
    ],
)
def test_a_warning_beyond_one_minor_release(client, server, warns):
    assert bool(skew(client, server)) is warns


def test_the_warning_names_the_older_one():
    assert "the server may use what cpctl does not know" in skew("0.1.0", "0.9.0")
    assert "cpctl may use what the server does not know" in skew("0.9.0", "0.1.0")


@pytest.mark.parametrize("body", [None, [], {}, {"controlPlaneVersion": {}}])
def test_a_server_without_a_version(body):
    assert server_version(body) == ""
    assert server_version({"controlPlaneVersion": {"Version": "1.2.3"}}) == "1.2.3"


def test_a_kind_is_found_by_its_aliases():
    assert kind_named("rail").name == "guard-rails"
    with pytest.raises(UsageError):
        kind_named("raill")
