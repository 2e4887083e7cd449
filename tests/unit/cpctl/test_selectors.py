"""Parts of an answer: the part of jq that cpctl knows, kubectl's jsonpath, and templates."""

from __future__ import annotations

import subprocess
import sys

import pytest
from cpctl.selectors.select import pick_by

from cpctl.commands.output_options import how, how_or_file
from cpctl.errors import UsageError
from cpctl.output import Format

FLEET = {
    "items": [
        {"name": "b", "state": "late", "lag": 3, "labels": {"a-b": "x"}},
        {"name": "a", "state": "ready", "lag": 1, "labels": {}, "done": True},
    ],
    "next_cursor": None,
}


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (".", None),
        (".items[].name", ["b", "a"]),
        (".items[-1].name, .items[0].lag", ["a", "3"]),
        (".items[9], .nothing.at.all", ["null", "null"]),
        (".items[:1][].name", ["b"]),
        ('.items[] | select(.state == "ready" and .lag < 2) | .name', ["a"]),
        ('.items[] | select(.state != "ready" or .lag >= 3).name', ["b"]),
        (".items[] | select(.done | not) | .name", ["b"]),
        (".items | length, (map(.lag) | sort)", ["2", "[1,3]"]),
        (".items | sort_by(.lag) | first.name", ["a"]),
        ('[.items[].name] | join("; ")', ["b; a"]),
        ('.items[].labels["a-b"] // "none"', ["x"]),
        ('.nothing // "none"', ["none"]),
        (".items[0] | {name, is: (.lag > 2)}", ['{"name":"b","is":true}']),
        ('.items[0].name | startswith("b"), endswith("a"), contains("b")', ["true", "false", "true"]),
        ('.items[0] | has("lag"), keys', ["true", '["labels","lag","name","state"]']),
        ("[.items[].lag, 3] | unique | last", ["3"]),
        (".items[].lag.nothing?", []),
        ("[..|.lag?] | map(select(.))", ["[3,1]"]),
        ("1 == true, null == false", ["false", "false"]),
        (".items[0].lag | -1, 007, 0.5, tostring", ["-1", "7", "0.5", "3"]),
        ('"tab\\tbell\\u0007"', ["tab\tbell\N{REPLACEMENT CHARACTER}"]),
    ],
)
def test_what_an_expression_of_jq_finds(expression, expected):
    picked = pick_by("jq", expression)(FLEET)

    assert picked == expected or (expected is None and picked[0].startswith('{"items":[{"name":"b"'))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("{.items[*].name}", ["b a"]),
        (".items[1].name", ["a"]),
        ("{$.items[?(@.lag > 2)].labels['a-b']}!", ["x!"]),
        ('{.items[?(@.state=="ready")].name}', ["a"]),
        ("{..lag}", ["3 1"]),
        ("{.items[*].done}", ["true"]),
        ('{range .items[*]}{.name}{"\\t"}{.lag}{"\\n"}{end}', ["b\t3", "a\t1"]),
        ("{range .items[*]}{range .labels.*}<{.}>{end}{end}", ["<x>"]),
    ],
)
def test_what_kubectls_jsonpath_finds(text, expected):
    assert pick_by("jsonpath", text)(FLEET) == expected


def test_a_template_is_filled_in():
    text = '{"fleet": "{{range .items}}{{.name}}={{.lag}}{{" "}}{{end}}"}{{.next_cursor}}'

    assert pick_by("template", text)(FLEET) == ['{"fleet": "b=3 a=1 "}']


@pytest.mark.parametrize(
    ("language", "text", "message"),
    [
        ("jq", "", "from character 1 on: a path is missing"),
        ("jq", ".items[", "from character 8 on"),
        ("jq", ".items | frob", "there is no 'frob'; known are length"),
        ("jq", ".items[*]", "from character 8 on"),
        ("jq", ".a b", "from character 4 on: this goes on"),
        ("jq", ".a | 'b'", 'strings stand in "'),
        ("jq", '.["a":2]', "from number to number"),
        ("jq", ".a ^ .b", "from character 3 on: this is not known"),
        ("jq", ".items.name", "a list has no member 'name'; .[] goes through it"),
        ("jq", ".items[0].lag[]", "a number cannot be gone through"),
        ("jq", ".items[0].lag | length", "a number has no length"),
        ("jsonpath", "{.items", "a brace without its other half"),
        ("jsonpath", "{range .items[*]}x", "a range without an end"),
        ("jsonpath", "x{end}", "an end without a range"),
        ("jsonpath", '{"\\q"}', "is no string"),
        ("template", "{{.items[*]}}", "from character 8 on"),
    ],
)
def test_what_is_wrong_with_an_expression_is_told_with_its_place(language, text, message):
    with pytest.raises(UsageError) as wrong:
        pick_by(language, text)(FLEET)

    assert message in wrong.value.message


def test_output_is_a_format_or_a_path_and_for_documents_a_file():
    picked = how("jsonpath={.name}").pick

    assert picked is not None
    assert picked({"name": "a"}) == ["a"]
    assert (how("json"), how("json").is_whole, how("csv").is_whole) == (Format.JSON, True, False)
    assert (how_or_file("a.yaml").file, how_or_file("yaml").file) == ("a.yaml", "")
    with pytest.raises(UsageError, match="Known: table"):
        how("a.yaml")


@pytest.mark.parametrize(
    ("arguments", "code", "out"),
    [
        (("--jq", ".items | length"), 0, "0\n"),
        (("--jq=.items[]",), 0, ""),
        (("--template", "{{.items}}"), 0, "[]\n"),
        (("-o", "jsonpath={.items[*].name}"), 0, "\n"),
        (("-o", "yaml", "--jq", ".items"), 0, "[]\n"),
        (("--jq", ".items["), 2, ""),
        (("--jq", ".", "--template", "x"), 2, ""),
        (("--jq", ".", "-o", "jsonpath=x"), 2, ""),
    ],
)
def test_every_command_that_shows_something_takes_them(tmp_path, arguments, code, out):
    ran = subprocess.run(
        [sys.executable, "-m", "cpctl", "config", "get-contexts", *arguments],
        env={"CPCTL_CONFIG": str(tmp_path / "none.json")},
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ran.returncode, ran.stdout) == (code, out), ran.stderr


def test_a_part_does_not_go_to_a_file():
    command = [sys.executable, "-m", "cpctl", "get", "overrides", "-o", "a.yaml", "--jq", "."]

    ran = subprocess.run(command, capture_output=True, text=True, check=False)

    assert (ran.returncode, "and a file" in ran.stderr) == (2, True)
