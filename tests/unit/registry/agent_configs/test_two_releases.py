"""Stored configurations that a later release wrote are read without what it added."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from registry.agent_configs import serialization
from registry.agent_configs.bundles.bundle import Agent, Bundle, BundleInput, Route
from registry.agent_configs.bundles.conditions import Condition, Status, Type
from registry.agent_configs.bundles.targets import Target
from registry.agent_configs.documents.content import Content, Deployment, Operation
from registry.agent_configs.documents.diagnostics import Code, Diagnostic, Severity
from registry.agent_configs.documents.published import Canary, DocumentId, TaskTypeFacts

DOCUMENT = DocumentId("api", "team", "doc")
DEPLOYMENT = Deployment("dns:///agent", timeouts={Operation.GET_TASK: 5})
BUNDLE = Bundle(
    Target(),
    agents={"a": Agent("a", DEPLOYMENT, "team", Canary("p", "d"))},
    routes=(Route("spark", "a", "team", DOCUMENT),),
    inputs=(BundleInput(DOCUMENT, 1, "digest"),),
)


def by_a_later_release(value: Any) -> Any:
    """Return the JSON with a member more in each object that has fixed members."""
    if isinstance(value, list):
        return [by_a_later_release(item) for item in value]
    if not isinstance(value, dict):
        return value
    grown = {name: by_a_later_release(item) for name, item in value.items()}
    is_map = not value or value.keys() & {"a", "spark"}
    return grown if is_map else {**grown, "added": 1}


def stored(value: Any) -> Any:
    return by_a_later_release(json.loads(json.dumps(value)))


def test_a_bundle_is_read_without_what_was_added():
    body = serialization.bundle_to_json(BUNDLE)

    assert serialization.bundle_from_json(json.loads(json.dumps(body))) == BUNDLE
    assert serialization.bundle_from_json(stored(body)) == BUNDLE


def test_content_facts_and_canaries_are_read_without_what_was_added():
    content = Content({"a": DEPLOYMENT}, {"spark": "a"}, frozenset({"spark"}))

    assert serialization.content_from_json(stored(serialization.content_to_json(content))) == content
    facts = serialization.facts_from_json(stored({"spark": {"version": 1, "is_sync": True}}))
    assert facts == {"spark": TaskTypeFacts(1, True)}
    assert serialization.canary_from_json(stored({"project": "p", "domain": "d"})) == Canary("p", "d")


def test_diagnostics_with_unknown_codes_are_left_out():
    known = Diagnostic(next(iter(Code)), Severity.ERROR, "/a", "Wrong.")
    row = stored(serialization.diagnostic_to_json(known))

    assert serialization.diagnostics_from_json([row, {**row, "code": "NewCode"}]) == (known,)


def test_conditions_of_unknown_types_are_left_out():
    known = Condition(Type.VALID, Status.TRUE, "Valid", "", 1, "", datetime(2026, 1, 1, tzinfo=UTC))
    row = stored(serialization.condition_to_json(known))

    assert serialization.conditions_from_json([row, {**row, "type": "Signed"}], "plane") == [known]
