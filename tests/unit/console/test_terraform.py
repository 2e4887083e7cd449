"""Terraform of the copy buttons: valid HCL whatever texts an object holds, and the requests in it."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from console.terraform import applied_object
from tests.support.hcl import Block, Hcl

_TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | _TEXTS
    | st.sampled_from(["${x}", "%{if}", 'a"\\\n']),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=8,
)


def resource_of(text: str) -> Block:
    blocks = {block.kind: block for block in Hcl(text).blocks()}
    assert list(blocks) == ["terraform", "variable", "provider", "resource"]
    return blocks["resource"]


@given(document=st.dictionaries(_TEXTS, _VALUES, max_size=4), name=_TEXTS)
def test_any_document_comes_back_from_the_hcl(document: dict[str, Any], name: str) -> None:
    resource = resource_of(applied_object("https://cp.example", name, "guard-rails/a", document))

    assert json.loads(resource.attributes["data"]) == {"documents": [document]}
    assert resource.attributes["object_id"] == name
    kind, label = resource.labels
    assert (kind, label.isidentifier()) == ("restapi_object", True)


def test_the_requests_of_an_object() -> None:
    path = "overrides/task_resource?project=ads"
    text = applied_object("https://cp.example", "CPU", path, {}, destroy_query="managed_by=terraform")

    (provider,) = (block for block in Hcl(text).blocks() if block.kind == "provider")
    assert provider.attributes["uri"] == "https://cp.example/api/v1"
    assert provider.attributes["headers"]["Authorization"] == "Bearer <var.controlplane_token>"
    attributes = resource_of(text).attributes
    assert attributes["create_path"] == attributes["update_path"] == "/overrides:apply?managed_by=terraform"
    assert (attributes["read_path"], attributes["destroy_path"]) == (
        f"/{path}",
        f"/{path}&managed_by=terraform",
    )
