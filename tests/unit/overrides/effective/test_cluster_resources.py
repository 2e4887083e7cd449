"""Resources of a namespace: templates filled in, and what is missing or in vain."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.scopes import Scope
from overrides.effective.cluster_resources import MAX_BYTES, cluster_resources

SCOPE = Scope(project="flytesnacks", domain="development")
NAMESPACE = "apiVersion: v1\nkind: Namespace\nmetadata:\n  name: {{ namespace }}\n"
QUOTA = """apiVersion: v1
kind: ResourceQuota
metadata: {name: project-quota, namespace: "{{ namespace }}"}
spec:
  hard:
    limits.cpu: {{ projectQuotaCpu }}
"""


def rendered(*texts: str, own: dict[str, str] | None = None, **attributes: Any) -> Any:
    templates = [{"name": f"t{index}", "text": text} for index, text in enumerate(texts)]
    types = {"cluster_resource_templates": {"templates": templates, **attributes}}
    return cluster_resources(SCOPE, types | {"cluster_resource": {"attributes": own or {}}})


def found_warnings(*texts: str, **options: Any) -> list[tuple[str, str, str]]:
    found = rendered(*texts, **options).warnings
    return [(each.resource_type, each.error.pointer, each.error.code) for each in found]


def test_templates_are_filled_in_with_the_overrides_above_the_values_of_the_templates():
    found = rendered(NAMESPACE, QUOTA, own={"projectQuotaCpu": "4"}, values={"projectQuotaCpu": "2"})
    assert found.namespace == "flytesnacks-development"
    assert [each.manifest["kind"] for each in found.resources] == ["Namespace", "ResourceQuota"]
    assert found.resources[1].manifest["spec"] == {"hard": {"limits.cpu": 4}}
    assert found.resources[1].manifest["metadata"]["namespace"] == "flytesnacks-development"
    assert found.warnings == ()


def test_a_namespace_has_its_own_template():
    assert (
        rendered(NAMESPACE, namespace="{{ domain }}-of-{{ project }}").namespace
        == "development-of-flytesnacks"
    )


@pytest.mark.parametrize(
    ("text", "own", "warning"),
    [
        (QUOTA, {}, ("cluster_resource_templates", "/templates/0/text", "unknown_placeholder")),
        (NAMESPACE, {"a/b": "1"}, ("cluster_resource", "/attributes/a~1b", "unused_value")),
        ("a: {{namespace}}", {}, ("cluster_resource_templates", "/templates/0/text", "malformed")),
        ("a: [", {}, ("cluster_resource_templates", "/templates/0/text", "malformed")),
        ("a: 1", {}, ("cluster_resource_templates", "/templates/0/text", "required")),
        (
            f"{NAMESPACE}---\n{NAMESPACE}",
            {},
            ("cluster_resource_templates", "/templates/0/text", "not_one_resource"),
        ),
        ("a: &b 1\nc: *b", {}, ("cluster_resource_templates", "/templates/0/text", "malformed")),
    ],
)
def test_what_is_wrong_is_a_warning(text, own, warning):
    assert found_warnings(text, own=own) == [warning]


def test_a_placeholder_and_a_key_that_nearly_match_name_each_other():
    messages = [each.error.message for each in rendered(QUOTA, own={"projectQuotaCpus": "1"}).warnings]
    assert messages == [
        "Nothing fills in 'projectQuotaCpu'. Did you mean 'projectQuotaCpus'?",
        "No template uses 'projectQuotaCpus'. Did you mean 'projectQuotaCpu'?",
    ]


def test_values_are_not_searched_for_placeholders():
    found = rendered("apiVersion: v1\nkind: A\na: '{{ a }}'", own={"a": "{{ b }}", "b": "{{ a }}"})
    assert found.resources[0].manifest["a"] == "{{ b }}"
    assert [each.error.pointer for each in found.warnings] == ["/attributes/b"]


def test_long_values_in_many_places_are_bounded():
    found = rendered("{{ a }}" * 9000, "{{ a }}" * 9000, own={"a": "x" * 10_000})
    assert sum(len(each.text) for each in found.resources) <= MAX_BYTES
    assert [each.error.code for each in found.warnings] == ["too_long", "too_long"]


@pytest.mark.parametrize("text", ["{{ " * 20_000, "{" * 65_000])
def test_braces_that_never_close_stay_as_they_are(text):
    found = rendered(text)
    assert found.resources[0].text == text
    assert [each.error.code for each in found.warnings] == ["malformed"]
