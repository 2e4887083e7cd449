"""Parts of an answer: `--jq`, by the package jq, which cpctl runs without too."""

from __future__ import annotations

import subprocess
import sys

import pytest

from cpctl.commands.output_options import how, how_or_file
from cpctl.errors import UsageError
from cpctl.jq_filter import jq_filter
from cpctl.output import Format

FLEET = {
    "items": [
        {"name": "b", "state": "late", "lag": 3, "labels": {"a-b": "x"}},
        {"name": "a", "state": "ready", "lag": 1, "labels": {}, "note": "\x1b[2Jé"},
    ],
    "next_cursor": None,
}
# Python runs this before the program: as if the package were not installed.
WITHOUT_JQ = "import sys; sys.modules['jq'] = None; from cpctl.main import main; main()"


@pytest.mark.parametrize(
    ("program", "expected"),
    [
        (".items[].name", ["b", "a"]),
        (".items[9], .nothing.at.all", ["null", "null"]),
        ('.items[] | select(.state == "ready" and .lag < 2) | .name', ["a"]),
        (".items[0] | {name, late: (.lag > 2)}", ['{"name":"b","late":true}']),
        ("[.items[].lag] | add, (sort | tojson)", ["4", "[1,3]"]),
        ("reduce .items[] as $agent (0; . + $agent.lag)", ["4"]),
        ('.items[].labels["a-b"] // "none"', ["x"]),
        (".items[1].note", ["\N{REPLACEMENT CHARACTER}[2Jé"]),
        ("empty", []),
    ],
)
def test_what_a_program_finds_is_shown_as_lines(program, expected):
    assert jq_filter(program)(FLEET) == expected


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (".items[", "--jq: syntax error, unexpected end of file at <top-level>, line 1, column 7"),
        (".items | frob", "frob/0 is not defined"),
        (".items.name", '--jq: Cannot index array with string ("name")'),
        ('error("\x1b[2J")', "--jq: \N{REPLACEMENT CHARACTER}[2J"),
    ],
)
def test_what_jq_refuses_is_an_error_in_its_words(program, message):
    with pytest.raises(UsageError) as refusal:
        jq_filter(program)(FLEET)

    assert message in refusal.value.message
    assert "compile error" not in refusal.value.message


def test_output_is_a_format_and_for_documents_a_file():
    assert (how("json"), how("json").is_whole, how("csv").is_whole) == (Format.JSON, True, False)
    assert (how_or_file("a.yaml").file, how_or_file("yaml").file) == ("a.yaml", "")
    with pytest.raises(UsageError, match=r"Known: table.*jsonpath=TEMPLATE"):
        how("a.yaml")


@pytest.mark.parametrize("text", ["custom-columns=NAME:.name", "go-template={{.items}}"])
def test_other_languages_of_kubectl_are_refused_and_make_no_file(text):
    with pytest.raises(UsageError, match="or --jq"):
        how_or_file(text)


def config_get_contexts(tmp_path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *command],
        env={"CPCTL_CONFIG": str(tmp_path / "none.json")},
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "code", "out"),
    [
        (("--jq", ".items | length"), 0, "0\n"),
        (("--jq=.items[]",), 0, ""),
        (("-o", "yaml", "--jq", ".items"), 0, "[]\n"),
        (("--jq", ".items["), 2, ""),
        (("-o", "jsonpath={.items}"), 0, "[]\n"),
        (("-o", "jsonpath={.items"), 2, ""),
        (("-o", "jsonpath={.items}", "--jq", ".items"), 2, ""),
        (("-o", "go-template=x"), 2, ""),
        (("--template", "x"), 2, ""),
    ],
)
def test_every_command_that_shows_something_takes_it(tmp_path, arguments, code, out):
    ran = config_get_contexts(tmp_path, "-m", "cpctl", "config", "get-contexts", *arguments)

    assert (ran.returncode, ran.stdout) == (code, out), ran.stderr


def test_without_the_package_only_that_option_is_missing_and_says_what_to_do(tmp_path):
    command = ("-c", WITHOUT_JQ, "config", "get-contexts")

    whole = config_get_contexts(tmp_path, *command, "-o", "json")
    picked = config_get_contexts(tmp_path, *command, "--jq", ".items")

    assert (whole.returncode, whole.stdout) == (0, '{\n  "items": []\n}\n'), whole.stderr
    assert (picked.returncode, picked.stdout) == (2, "")
    assert "pipx install --force './cpctl[jq]'" in picked.stderr


def test_a_part_does_not_go_to_a_file():
    command = [sys.executable, "-m", "cpctl", "get", "overrides", "-o", "a.yaml", "--jq", "."]

    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (ran.returncode, "--jq or a file" in ran.stderr) == (2, True)
