"""What columns show of an item."""

from __future__ import annotations

import pytest

from cpctl.columns import recorded_name

KEY = "019a9f5e-7c00-7000-8000-000000000071"


@pytest.mark.parametrize(
    ("item", "name"),
    [
        ({"object_id": "task_resource project=ads", "after": {"name": "x"}}, "task_resource project=ads"),
        ({"object_id": KEY, "before": {"name": "old"}, "after": {"name": "new"}}, "new"),
        ({"object_id": KEY, "before": {"slug": "ml"}, "after": None}, "ml"),
        ({"object_id": KEY, "data": {"name": "prod-eu-1"}}, "prod-eu-1"),
        ({"object_id": KEY, "object_type": "pool", "data": {"pool": "gpus"}}, "gpus"),
        ({"object_id": KEY, "after": {"name": "", "state": "draining"}}, KEY),
        ({"object_id": KEY}, KEY),
        ({}, ""),
    ],
)
def test_an_object_of_a_record_has_the_name_in_it_or_its_id(item, name):
    assert recorded_name(item) == name
