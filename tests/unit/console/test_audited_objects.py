"""Names of the objects of audit records."""

from __future__ import annotations

from typing import Any

import pytest

from console.records.objects import audited_object
from controlplane.scopes import Scope

KEY = "019a9f5e-7c00-7000-8000-000000000071"
RECORDED = Scope("development", "recommender")


@pytest.mark.parametrize(
    ("state", "name"),
    [
        ({"resource_type": "quality"}, "quality at project=recommender domain=development"),
        ({"resource_type": "quality", "scope": {"project": "ads"}}, "quality at project=ads"),
        ({"resource_type": "quality", "scope": {}}, "quality at global"),
        ({"resource_type": "quality", "project": "ads", "domain": ""}, "quality at project=ads"),
    ],
)
def test_an_object_without_a_scope_has_that_of_its_record(state: dict[str, Any], name: str) -> None:
    assert audited_object("change_request", KEY, None, state, RECORDED).name == name
