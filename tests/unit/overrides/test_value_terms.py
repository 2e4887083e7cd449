"""Terms that look for values: how text is read, and which documents it finds."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from overrides.resource_types import BUILT_IN
from overrides.value_terms import MAX_DOCUMENTS, ValueTerm, documents_with, parse_term, setting_of

_STEPS = st.lists(st.text("abc_", min_size=1, max_size=4), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("text", "term"),
    [
        ("max_parallelism=10", ValueTerm(("max_parallelism",), "10")),
        ("limits.cpu = 500m", ValueTerm(("limits", "cpu"), "500m")),
        ("/labels/values/app.io~1name=a=b", ValueTerm(("labels", "values", "app.io/name"), "a=b")),
        ("max_parallelism", None),
        ("=10", None),
        ("limits..cpu=1", None),
    ],
)
def test_text_becomes_a_term(text: str, term: ValueTerm | None) -> None:
    assert parse_term(text) == term


@pytest.mark.parametrize(
    ("value", "readings"),
    [
        ("10", ("10", 10)),
        ("true", ("true", True)),
        ("a", ("a",)),
        ("null", ("null",)),
        ("[1]", ("[1]",)),
        ("[" * 100_000, ("[" * 100_000,)),
    ],
)
def test_a_value_is_read_as_text_and_as_number(value: str, readings: tuple[Any, ...]) -> None:
    assert ValueTerm(("a",), value).readings == readings


def test_a_name_is_found_wherever_the_schema_has_it() -> None:
    found = documents_with(ValueTerm(("cpu",), "4"), BUILT_IN["task_resource"].schema)

    assert {"defaults": {"cpu": "4"}} in found
    assert {"limits": {"cpu": 4}} in found


def test_a_name_within_a_list_is_found() -> None:
    found = documents_with(
        ValueTerm(("mount_requirement",), "FILE"), BUILT_IN["workflow_execution_config"].schema
    )

    assert {"security_context": {"secrets": [{"mount_requirement": "FILE"}]}} in found


def test_a_label_is_found_by_its_key() -> None:
    found = documents_with(ValueTerm(("team",), "ml"), BUILT_IN["workflow_execution_config"].schema)

    assert {"labels": {"values": {"team": "ml"}}} in found


@given(_STEPS, st.sampled_from(sorted(BUILT_IN)))
def test_a_whole_path_is_always_among_the_places(steps: list[str], name: str) -> None:
    found = documents_with(ValueTerm(tuple(steps), "x"), BUILT_IN[name].schema)

    document: Any = "x"
    for step in reversed(steps):
        document = {step: document}
    assert document in found
    assert len(found) <= MAX_DOCUMENTS


@pytest.mark.parametrize(
    ("text", "setting"),
    [
        ("cpu=4", "/limits/cpu"),
        ("limits.cpu=4", "/limits/cpu"),
        ("defaults.cpu=4", ""),
        ("/limits/cpu=4", "/limits/cpu"),
        ("count=1", "/count"),
        ("flag=true", "/flag"),
        ("flag=1", ""),
        ("key=gpu", "/tolerations"),
        ("/labels/example.com~1team=ml", "/labels/example.com~1team"),
    ],
)
def test_the_setting_that_has_the_value_is_named(text: str, setting: str) -> None:
    document = {
        "defaults": {"cpu": "2"},
        "limits": {"cpu": "4"},
        "count": 1,
        "flag": True,
        "tolerations": [{"key": "gpu", "match": {"key": "gpu"}}],
        "labels": {"example.com/team": "ml"},
    }
    term = parse_term(text)

    assert term is not None
    assert setting_of(term, document) == setting
