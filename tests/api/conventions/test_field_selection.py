"""`only` and `omit` of lists, through HTTP."""

from __future__ import annotations

import pytest

from tests.support.api_client import Api, make_project

pytestmark = pytest.mark.django_db


def test_a_list_returns_the_fields_that_were_asked_for(api: Api) -> None:
    for name in ("ads", "billing"):
        make_project(name)
    api.put("overrides/task_resource?project=ads", {"attributes": {"defaults": {"cpu": "1"}}})

    first = api.get("scopes/projects?only=id&limit=1")
    assert first.json()["items"] == [{"id": "ads"}]
    rest = api.get(first["Link"].partition(">")[0].removeprefix("<"))
    assert rest.json()["items"][0] == {"id": "billing"}
    (override,) = api.get("overrides?project=ads&omit=attributes,changed_by").json()["items"]
    assert override["version"] == 1
    assert "attributes" not in override
    (part,) = api.get("overrides?project=ads&only=attributes.defaults,scope.project").json()["items"]
    assert part == {"attributes": {"defaults": {"cpu": "1"}}, "scope": {"project": "ads"}}


@pytest.mark.parametrize(
    ("query", "pointer"), [("only=nam", "?only"), ("omit=labls", "?omit"), (f"only={'a,' * 60}", "?only")]
)
def test_a_field_that_there_is_not_is_refused(api: Api, query: str, pointer: str) -> None:
    make_project("ads")

    refused = api.get(f"scopes/projects?{query}")

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, pointer)
