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


@pytest.mark.parametrize(
    ("object_type", "state", "now", "name"),
    [
        ("plugin_release", {"number": 3, "state": "active"}, "", "release 3"),
        ("agent", {"state": "draining"}, "eu-1", "eu-1"),
        ("agent", {"name": "eu-0"}, "eu-1", "eu-0"),
        ("agent", {"state": "draining"}, "", KEY),
    ],
)
def test_an_object_has_its_recorded_name_then_its_present_one(
    object_type: str, state: dict[str, Any], now: str, name: str
) -> None:
    subject = audited_object(object_type, KEY, None, state, name_now=now)
    assert (subject.name, subject.id) == (name, "" if name == KEY else KEY)
