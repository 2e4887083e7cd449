"""What templates refuse although Go accepts it, with position, and within limits."""

from __future__ import annotations

import time
from contextlib import suppress

import pytest

from registry.jobs.templates import Limits, TemplateError, render


def refusal(source, limits=None, data=None):
    with pytest.raises(TemplateError) as error:
        render(source, data or {"a": "x", "proj": {"A": "x"}}, limits or Limits())
    return error.value


@pytest.mark.parametrize(
    ("source", "line", "column", "text"),
    [
        ('a\n b {{ template "x" }}', 2, 7, "template is not supported"),
        ("{{ define `x` }}{{ end }}", 1, 4, "define is not supported"),
        ("{{ range list }}{{ break }}{{ end }}", 1, 20, "break is not supported"),
        ("{{ len .a }}", 1, 4, "len is not supported"),
        ("{{ .a | html }}", 1, 9, "html is not supported"),
        ("{{ nil }}", 1, 4, "nil is not supported"),
        ("{{ 1.5 }}", 1, 4, "not a decimal integer"),
        ("{{ 010 }}", 1, 4, "not a decimal integer"),
        ("{{ 0x1F }}", 1, 4, "not a decimal integer"),
        ("{{ 1_000 }}", 1, 4, "not a decimal integer"),
        ("{{ 9223372036854775808 }}", 1, 4, "64 bits"),
        ("{{ 'a' }}", 1, 4, "Unexpected character"),
        ("{{ .žluť }}", 1, 5, "Unexpected character"),
        ("{{ $x := 1 }}{{ $x = 2 }}", 1, 20, "Unexpected character"),
        ('{{ "\\xff" }}', 1, 5, "escape"),
        ('{{ "\\101" }}', 1, 5, "escape"),
        ('{{ "a\\ud800" }}', 1, 6, "escape"),
        ('{{ printf("x") }}', 1, 10, "Separate the arguments"),
        ("{{ with $x, $y := .a }}{{ end }}", 1, 11, "Only range declares two"),
        ("{{ .a | }}", 1, 9, "ends too early"),
        ("{{ with .a }}{{ else with .a }}{{ end }}", 1, 22, "Unexpected with after else"),
        ("{{ range .proj }}{{ end }}", 1, 10, "range supports lists"),
        ("{{ range 3 }}{{ end }}", 1, 10, "range supports lists"),
        ("{{ .proj }}", 1, 4, "cannot be printed"),
        ("{{ . }}", 1, 4, "cannot be printed"),
        ('{{ printf "%v" .proj }}', 1, 4, "cannot write an object"),
        ('{{ printf "%q" .a }}', 1, 4, "printf supports only"),
        ('{{ printf "%5d" 5 }}', 1, 4, "printf supports only"),
        ('{{ printf "%s" 5 }}', 1, 4, "cannot write a number with %s"),
        ('{{ printf "%d" "5" }}', 1, 4, "cannot write text with %d"),
        ('{{ printf "%s" }}', 1, 4, "1 verbs and 0 values"),
        ('{{ date "2006" .a }}', 1, 4, "Expected a time"),
        ('{{ date "2006" true }}', 1, 4, "Expected a time"),
        ('{{ date_modify "1d" (toDate "2006" "2023") }}', 1, 4, "Go duration"),
        ('{{ toDate "2006-01-02" .a }}', 1, 4, "not in the layout"),
        ('{{ toDate "2006 06" "2023 23" }}', 1, 4, "two years"),
        ('{{ toDate "2006 -0700" "2023 +0060" }}', 1, 4, "invalid offset"),
        ('{{ toDate "2006 2006" "2023 2024" }}', 1, 4, "twice, differently"),
        ('{{ toDate "2006 01 Jan" "2023 01 Jan" }}', 1, 4, "two months"),
        ('{{ toDate "2006 15 PM" "2023 01 PM" }}', 1, 4, "hours of 24 and of 12"),
        ('{{ toDate "01-02" "12-31" }}', 1, 4, "no year"),
        ('{{ toDate "2006 MST" "2023 CET" }}', 1, 4, "MST of a layout is not supported"),
        ('{{ date "__2" 0 }}', 1, 4, "__2 of a layout is not supported"),
        ('{{ date "2006" 999999999999 }}', 1, 4, "out of range"),
        ('{{ eq (list "a") (list "a") }}', 1, 4, "not a list"),
        ("{{ index .a 0 }}", 1, 4, "does not support text with a number"),
        ("{{ printf list }}", 1, 11, "in parentheses"),
        ("{{ $x, $y := .a }}", 1, 6, "Only range declares two"),
        ("{{ if true }}{{ $x := 1 }}{{ else }}{{ $x }}{{ end }}", 1, 40, "not declared"),
        ("{{/* open", 1, 3, "comment is not closed"),
        ("{{/* a */ .a }}", 1, 3, "action of its own"),
    ],
)
def test_a_refusal_names_the_position_and_the_reason(source, line, column, text):
    error = refusal(source)

    assert (error.line, error.column) == (line, column), error
    assert text in error.message


def test_an_unknown_function_lists_what_is_supported():
    message = refusal("{{ upper .a }}").message

    assert "upper is not supported. Supported are fields, pipelines" in message
    assert "unixEpoch" in message


@pytest.mark.parametrize(
    "function",
    [
        "Date",
        'toDate "2006"',
        "unixEpoch",
        "trunc .a",
        'join "x"',
        "index .a",
        "eq 1",
        "date_modify .a",
        "printf .b",
    ],
)
def test_a_message_never_contains_a_value(function):
    data = {"a": "s3cr3t", "b": "%z s3cr3t", "secret": {"TOKEN": "s3cr3t"}}

    for source in (f"{{{{ {function} .secret.TOKEN }}}}", f"{{{{ .a | {function} }}}}"):
        assert "s3cr3t" not in str(refusal(source, data=data))


@pytest.mark.parametrize(
    ("source", "limits", "text"),
    [
        ("x" * 11, Limits(template_bytes=10), "longer than 10 bytes"),
        ("ž" * 6, Limits(template_bytes=10), "longer than 10 bytes"),
        ("{{.a}}" * 11, Limits(output_bytes=10), "result is longer than 10 bytes"),
        ("{{if .a}}" * 4 + "{{end}}" * 4, Limits(nesting=3), "Blocks are nested deeper than 3"),
        ("{{" + "(" * 4 + "1" + ")" * 4 + "}}", Limits(nesting=3), "Parentheses are nested deeper than 3"),
        ('{{range list "a" "b" "c"}}{{end}}', Limits(iterations=2), "more than 2 iterations"),
        ("{{.a}}" * 5, Limits(steps=4), "more than 4 steps"),
        ("{{eq .a .a}}" * 9, Limits(processed=10), "more than 10 characters"),
        ('{{replace "x" "yyyy" "xxxx"}}', Limits(processed=20), "more than 20 characters"),
    ],
)
def test_a_limit_is_enforced(source, limits, text):
    assert text in refusal(source, limits).message


def test_loops_within_loops_share_their_iterations():
    items = " ".join(["`a`"] * 40)
    source = f"{{{{range list {items}}}}}" * 2 + "{{end}}" * 2

    assert "more than 1000 iterations" in refusal(source).message


def test_replace_cannot_grow_a_text_beyond_the_limit():
    grow = '| replace "x" "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"'

    assert "longer than 1048576 characters" in refusal(f"{{{{ .a {grow * 6} }}}}").message


@pytest.mark.parametrize(
    "piece",
    [
        *(
            "{{.a}}",
            "{{",
            "{{- -}}",
            "{{/* */}}",
            "{{if .a}}",
            "{{if .a}}{{else if .a}}{{end}}",
            "}}",
            "\n{{- ",
        ),
        *('{{replace "x" "y" .a}}', "{{$x := .a}}{{$x}}", "(", "{{`", '{{"\\', "{{/*", "{{.a|", " - "),
    ],
)
def test_a_large_template_takes_linear_time(piece):
    source = (piece * (128 * 1024 // len(piece) + 1))[: 128 * 1024]
    started = time.process_time()
    with suppress(TemplateError):
        render(source, {"a": "x"})

    assert time.process_time() - started < 5


@pytest.mark.parametrize(
    "source", ["{{ if .a }}x{{ end }}", "{{ ((`x`)) }}", "{{ range list `x` }}{{ . }}{{ end }}"]
)
def test_blocks_after_another_are_not_nested(source):
    assert render(source * 200, {"a": "x"}).text == "x" * 200


def test_a_long_chain_of_else_if_is_not_nested():
    source = "{{if .no}}" + "{{else if .no}}" * 2000 + "{{else}}last{{end}}"

    assert render(source, {}).text == "last"
