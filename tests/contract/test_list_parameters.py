"""Every list sorts and searches, but for those that are named here with the reason."""

from __future__ import annotations

from typing import Any

import pytest

from tests.support.openapi import openapi_document

DOCUMENT = openapi_document()
HISTORY = "the history of one object, newest first"
FEW = "it has few items"
BY_FILTERS = "each name in it is a filter"
WITHOUT = {
    "access_matrix": "each row is computed for the caller",
    "agent_bulk_changes_agents": "in the order of the change",
    "agent_config_bundles_list": HISTORY,
    "agent_config_claims_list": BY_FILTERS,
    "agent_config_conflicts_list": BY_FILTERS,
    "agent_config_grants_list": FEW,
    "agent_config_parts_list": BY_FILTERS,
    "agent_config_pins_list": FEW,
    "agent_config_teams_list": FEW,
    "providers_history": HISTORY,
    "job_runs_list": HISTORY,
    "oauth_client_secrets_list": FEW,
    "operations_list": "rows of several tables, newest first",
    "override_versions_list": HISTORY,
    "overrides_diff": "a comparison of two revisions",
    "override_revisions_list": HISTORY,
    "plugin_config_versions": HISTORY,
    "pools_leases": "`order` sorts, and the table grows with every lease",
    "pools_limits": BY_FILTERS,
    "pools_usage": "`by` groups, and the most used come first",
    "roles_list": FEW,
    "signing_keys_list": FEW,
    "sinks_deliveries": "the table grows with every event",
    "task_types_get": "one task type",
}


def lists() -> dict[str, dict[str, Any]]:
    """Return the parameters of each list by its operation."""
    operations = (methods["get"] for methods in DOCUMENT["paths"].values() if "get" in methods)
    return {
        operation["operationId"]: {parameter["name"]: parameter for parameter in operation["parameters"]}
        for operation in operations
        if "x-pagination" in operation
    }


@pytest.mark.parametrize("name", sorted(lists()))
def test_a_list_sorts_and_searches(name: str) -> None:
    given = {"q", "sort"} & lists()[name].keys()

    assert given == (set() if name in WITHOUT else {"q", "sort"})


@pytest.mark.parametrize("name", sorted(lists().keys() - WITHOUT))
def test_a_search_names_its_fields(name: str) -> None:
    parameters = lists()[name]

    assert "`" in parameters["q"]["description"] or name in ("agents_list", "overrides_list", "projects_list")
    assert parameters["sort"]["schema"]["pattern"].startswith("^-?(")
