"""Suggestions: our name for what other APIs call so comes before the nearest spelling."""

from __future__ import annotations

import pytest

from controlplane.api.suggestions import suggest
from registry.api.agents.list_query import AgentListQuery
from registry.listing.search import SORT_KEYS

OF_AGENTS = [*AgentListQuery().fields]


@pytest.mark.parametrize(
    ("name", "valid", "expected"),
    [
        ("state", OF_AGENTS, "health_status"),
        ("label_selector", OF_AGENTS, "selector"),
        ("labelSelector", OF_AGENTS, "selector"),
        ("order_by", OF_AGENTS, "sort"),
        ("page_token", OF_AGENTS, "cursor"),
        ("env", OF_AGENTS, "environment"),
        ("selektor", OF_AGENTS, "selector"),
        ("-last_seen_at", [*SORT_KEYS.columns], "-last_heartbeat"),
        ("-consumer_lags", [*SORT_KEYS.columns], "-consumer_lag"),
        ("Active", ["Active", "Archived"], "Active"),
        # A synonym counts only where it is valid.
        ("state", ["status", "team"], "status"),
        ("zzzz", OF_AGENTS, ""),
    ],
)
def test_what_was_probably_meant_is_suggested(name: str, valid: list[str], expected: str) -> None:
    assert suggest(name, valid) == expected
