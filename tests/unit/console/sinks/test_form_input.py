"""The form of a sink says what the sink has, and means what was typed."""

from __future__ import annotations

import pytest

from console.sinks.form_input import body_of, filter_of, form_of
from controlplane.delivery.models import Sink
from controlplane.errors import InvalidRequest

FILTER = {
    "types": ["agent.*", "project.created"],
    "object_types": ["agent"],
    "teams": ["ml"],
    "scopes": [{"project": "shop", "domain": "production"}, {"project": "ads"}],
    "labels": {"region": "eu", "tier": ""},
    "expression": "data.a = 'b, c'",
}


@pytest.mark.parametrize(
    ("kind", "config"),
    [
        ("webhook", {"url": "https://hooks.example.com/cp"}),
        ("webhook", {"url": "https://hooks.example.com/cp", "large": "whole", "mode": "binary"}),
        ("bus", {"topic": "events", "hosts": ["a:1", "b:2"], "tls": True}),
        ("bus", {}),
    ],
)
@pytest.mark.parametrize("parts", [{}, FILTER])
def test_a_form_that_is_sent_as_it_came_changes_nothing(kind, config, parts):
    sink = Sink(
        name="x",
        kind=kind,
        config=config,
        filter=parts,
        flavour="flyte-v2",
        max_in_flight=3,
        per_second=7,
        version=4,
    )
    form = form_of(sink)

    body = body_of(form)

    assert (body["kind"], body["config"], body["filter"]) == (kind, config, parts)
    assert body["flavour"] == "flyte-v2"
    assert (body["max_in_flight"], body["per_second"], form["version"]) == (3, 7, "4")


@pytest.mark.parametrize(("field", "text"), [("labels", "eu"), ("scopes", "project=a\nshop")])
def test_what_is_no_pair_is_refused_with_its_place(field, text):
    with pytest.raises(InvalidRequest) as refusal:
        filter_of({field: text})

    assert refusal.value.errors[0].pointer == f"/filter/{field}"


def test_settings_that_are_no_yaml_are_refused():
    with pytest.raises(InvalidRequest, match="neither YAML nor JSON"):
        body_of({"kind": "bus", "config": "a: [1"})
