import pytest

from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.expressions import parse_expression
from controlplane.delivery.filters import SinkFilter, filter_from
from controlplane.errors import InvalidRequest
from controlplane.scopes import Scope
from tests.unit.controlplane.delivery.events import logged_event

ORIGIN = Origin("https://cp.example.com")
EVENT = logged_event()


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"types": ["agent.unavailable"]},
        {"types": ["override.*", "agent.*"]},
        {"types": ["*"]},
        {"scopes": [{"project": "shop"}]},
        {"scopes": [{}]},
        {"teams": ["us", "eu"]},
        {"object_types": ["agent"]},
        {"labels": {"zone": "a"}},
        {"types": ["agent.*"], "labels": {"zone": "a"}, "expression": "data.missed = 3"},
    ],
)
def test_filters_that_pass(document):
    assert filter_from(document).matches(EVENT, ORIGIN)


@pytest.mark.parametrize(
    "document",
    [
        {"types": ["agent.ready"]},
        {"types": ["agentx.*"]},
        {"scopes": [{"project": "other"}]},
        {"scopes": [{"project": "shop", "domain": "production", "workflow": "w"}]},
        {"teams": ["us"]},
        {"object_types": ["override"]},
        {"labels": {"zone": "b"}},
        {"labels": {"missing": "a"}},
        {"types": ["agent.*"], "teams": ["us"]},
        {"expression": "data.missed = 4"},
    ],
)
def test_filters_that_hold_back(document):
    assert not filter_from(document).matches(EVENT, ORIGIN)


@pytest.mark.parametrize(
    "text",
    [
        "type = 'dev.controlplane.agent.unavailable.v1'",
        'cpteam = "eu"',
        "data.environment IN ('prod', 'stage')",
        "data.environment not in ('dev')",
        "data.name LIKE 'eu-_'",
        "data.name LIKE '%u-1' AND data.name LIKE '%'",
        "data.name NOT LIKE 'us-%'",
        "data.missed != 4 AND data.missed = 3",
        "data.guarded = FALSE",
        "EXISTS data.labels.zone",
        "NOT EXISTS data.absent",
        "cpteam = 'us' OR cpteam = 'eu' AND data.missed = 3",
        "NOT (cpteam = 'us' OR data.missed = 4)",
        "type LIKE '%.agent.unavailable.%' AND (data.environment IN ('prod', 'stage') OR NOT EXISTS cpteam)",
    ],
)
def test_expressions_that_pass(text):
    assert SinkFilter(expression=text).matches(EVENT, ORIGIN)


@pytest.mark.parametrize(
    "text",
    [
        "cpteam = 'us'",
        # Nothing can be said about what is absent.
        "data.absent != 'x'",
        "data.absent NOT IN ('x')",
        "data.absent NOT LIKE 'x'",
        "data.name LIKE 'eu.1'",
        "data.missed LIKE '3'",
        "(cpteam = 'us' OR cpteam = 'eu') AND data.missed = 4",
        "NOT cpteam = 'eu'",
        "data.missed = '3'",
    ],
)
def test_expressions_that_hold_back(text):
    assert not SinkFilter(expression=text).matches(EVENT, ORIGIN)


def test_like_takes_every_character_as_it_is():
    text = r"a.b*c(d[e{f|g^h$i+j?k\l/m-n#o&p~q r"
    event = logged_event(data={"name": text})
    escaped = text.replace("\\", "\\\\")
    assert SinkFilter(expression=f"data.name LIKE '{escaped}'").matches(event, ORIGIN)
    assert not SinkFilter(expression=f"data.name LIKE 'x{escaped}'").matches(event, ORIGIN)


def test_a_text_with_an_escaped_quote():
    event = logged_event(data={"name": "it's\nso"})
    assert SinkFilter(expression=r"data.name = 'it\'s" + "\nso'").matches(event, ORIGIN)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "needs an attribute"),
        ("type", "=, !=, IN or LIKE, but ends there"),
        ("type = ", "a text in quotes"),
        ("type = 'a' type", "AND, OR or the end, but has type"),
        ("type = 'a", "cannot be read from character 8"),
        ("type IN ('a'", "), but ends there"),
        ("type LIKE 3", "LIKE needs a text"),
        ("type ~ 'a'", "cannot be read from character 6: \"~ 'a'"),
        ("(" * 30 + "type = 'a'" + ")" * 30, "nested more than 20 times"),
        ("type = '" + "x" * 1020 + "'", "more than 1024 bytes"),
    ],
)
def test_errors_name_the_position(text, message):
    with pytest.raises(InvalidRequest) as caught:
        parse_expression(text)
    assert message in str(caught.value)


def test_a_scope_covers_what_is_below():
    below = logged_event(scope=Scope(domain="production", project="shop", workflow="w", launch_plan="l"))
    assert SinkFilter(scopes=(Scope(project="shop"),)).matches(below, ORIGIN)
