"""Parts of an answer: `-o jsonpath=`, with templates as kubectl has them."""

from __future__ import annotations

import pytest

from cpctl.errors import UsageError
from cpctl.jsonpath_template import jsonpath_template

FLEET = {
    "items": [
        {"name": "b", "lag": 3, "labels": {"a-b": "x", "example.com/team": "ads"}, "tags": ["p", "q"]},
        {"name": "a", "lag": 1, "labels": {}, "tags": [], "note": "\x1b[2Jé"},
    ],
}


@pytest.mark.parametrize(
    ("template", "expected"),
    [
        ("{.items[*].name}", "b a"),
        ("{.items[?(@.lag>2)].name}", "b"),
        ("{.items[?(@.name=='a')].lag}", "1"),
        ("{.items[-1:].name}, {$.items[0]['lag']}", "a, 3"),
        ("{..lag}", "3 1"),
        ("{.items[0].labels.a-b}", "x"),
        ("{.items[0].labels.example\\.com/team}", "ads"),
        ("{.items[1]['labels', 'tags']}", "{} []"),
        ('{range .items[*]}{.name}{"\\t"}{@.lag}{"\\n"}{end}', "b\t3\na\t1"),
        ("{range .items[*]}{range .tags[*]}{.}{'}'}{end};{end}", "p}q};;"),
        (".items[0].name", "b"),
        ("items[0].name", "b"),
        ("{.nothing.at.all}", ""),
        ("{.items[1].note}", "\N{REPLACEMENT CHARACTER}[2Jé"),
    ],
)
def test_what_a_template_finds_is_shown(template, expected):
    assert jsonpath_template(template)(FLEET) == [expected]


def test_a_text_that_looks_like_json_stays_a_text():
    assert jsonpath_template("{range .a[*]}{@};{end}")({"a": ['{"b":', "[1, 2]", "007"]}) == [
        '{"b":;[1, 2];007;'
    ]


def test_the_whole_answer_is_compact_json():
    for template in ("{@}", "{$}", "{.}"):
        assert jsonpath_template(template)({"a": [1, None]}) == ['{"a":[1,null]}']


@pytest.mark.parametrize(
    ("template", "message"),
    [
        ("{.items[*}", "-o jsonpath: .items[*: "),
        ("{.items", "unmatched brace: {.items"),
        ("name}", "unmatched brace: name}"),
        ("{range .items[*]}{.name}", "{range} without {end}"),
        ("{.name}{end}", "{end} without {range}"),
        ('{"\\x"}', "is no text in quotes"),
    ],
)
def test_a_template_that_cannot_be_read_is_refused_with_an_example(template, message):
    with pytest.raises(UsageError) as refusal:
        jsonpath_template(template)

    assert message in refusal.value.message
    assert "-o jsonpath='{.items[*].name}'" in refusal.value.hint
