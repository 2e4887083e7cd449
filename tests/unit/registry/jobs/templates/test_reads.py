"""What a template read, what was missing, and what is in the result as `<no value>`."""

from __future__ import annotations

import pytest

from registry.jobs.templates import render

DATA = {"proj": {"A": "x"}, "secret": {"TOKEN": "t"}}
TOKEN = ("secret", "TOKEN")


@pytest.mark.parametrize(
    "source",
    [
        "{{ .secret.TOKEN }}",
        "{{ $.secret.TOKEN }}",
        '{{ index . "secret" "TOKEN" }}',
        '{{ (index . "secret").TOKEN }}',
        "{{ with .secret }}{{ .TOKEN }}{{ end }}",
        "{{ $x := .secret }}{{ $x.TOKEN }}",
        "{{ if .secret.TOKEN }}yes{{ end }}",
        "{{ range list .secret.TOKEN }}{{ . }}{{ end }}",
        '{{ $.proj.A | printf "%s %s" .secret.TOKEN }}',
    ],
)
def test_every_way_to_read_a_secret_is_noticed(source):
    assert TOKEN in render(source, DATA).reads


@pytest.mark.parametrize(
    "source",
    ["{{/* .secret.TOKEN */}}x", "{{ `.secret.TOKEN` }}", ".secret.TOKEN", "{{ or .proj.A .secret.TOKEN }}"],
)
def test_text_that_mentions_a_secret_does_not_read_it(source):
    assert TOKEN not in render(source, DATA).reads


def test_a_missing_key_is_reported_where_it_is_printed():
    rendered = render("{{ if .proj.B }}b{{ end }}{{ .proj.C }}{{ $x := .no.more }}{{ $x }}", DATA)

    assert rendered.text == "<no value><no value>"
    assert rendered.missing == (("proj", "B"), ("proj", "C"), ("no",))
    assert rendered.unsubstituted == (("proj", "C"), ("no", "more"))


def test_index_of_a_missing_key_is_empty_and_reported():
    rendered = render('[{{ index .proj "B" }}]', DATA)

    assert (rendered.text, rendered.missing, rendered.unsubstituted) == ("[]", (("proj", "B"),), ())


def test_printf_of_a_missing_key_is_unsubstituted():
    assert render('{{ printf "%v" .no }}', DATA).unsubstituted == (("no",),)


def test_a_value_that_looks_like_a_missing_one_is_none():
    assert render("{{ .proj.A }}", {"proj": {"A": "<no value>"}}).unsubstituted == ()


def test_half_a_character_is_dropped():
    assert render("{{ trunc 2 .a }}", {"a": "až"}).text == "a"
