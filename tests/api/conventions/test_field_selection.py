"""`view`, `only` and `omit` of lists, through HTTP."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from django.urls import get_resolver
from rest_framework.serializers import Serializer

from controlplane.api.endpoints import Endpoint
from controlplane.api.item_shapes import declared_page, shape_of_items
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
    ("query", "pointer"),
    [
        ("only=nam", "?only"),
        ("omit=labls", "?omit"),
        (f"only={'a,' * 60}", "?only"),
        ("view=short", "?view"),
    ],
)
def test_a_field_that_there_is_not_is_refused(api: Api, query: str, pointer: str) -> None:
    make_project("ads")

    refused = api.get(f"scopes/projects?{query}")

    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, pointer)


def test_a_misspelled_field_is_refused_in_an_empty_list_too(api: Api) -> None:
    refused = api.get("overrides?only=scope.projekt")

    assert refused.status_code == 400
    (error,) = refused.json()["errors"]
    assert error["hint"] == "Did you mean 'scope.project'?"


def test_the_basic_view_has_no_documents(api: Api) -> None:
    make_project("ads")
    api.put("overrides/task_resource?project=ads", {"attributes": {"defaults": {"cpu": "1"}}})

    (basic,) = api.get("overrides?project=ads&view=basic").json()["items"]

    assert basic["scope"]["project"] == "ads"
    assert basic["version"] == 1
    assert "attributes" not in basic


def test_each_list_has_values_outside_lists_and_maps() -> None:
    lists = {
        view: page
        for view in views_of(get_resolver().url_patterns)
        if (page := response_of(view)) and {"items", "next_cursor"} <= page().fields.keys()
    }

    assert len(lists) > 50
    assert [page.__name__ for page in lists.values() if not [*shape_of_items(page).basic_paths()]] == []


def views_of(patterns: list[Any]) -> Iterator[type[Endpoint]]:
    for pattern in patterns:
        if hasattr(pattern, "url_patterns"):
            yield from views_of(pattern.url_patterns)
        elif issubclass(view := getattr(pattern.callback, "view_class", object), Endpoint):
            yield view


def response_of(view: type[Endpoint]) -> type[Serializer[Any]] | None:
    instance = view()
    if not hasattr(instance, "get") or "schema" not in getattr(instance.get, "kwargs", {}):
        return None
    vars(instance).update(request=None, args=(), kwargs={})
    try:
        page = declared_page(instance)
    except StopIteration:  # its answer is no 200
        return None
    return page if isinstance(page, type) and issubclass(page, Serializer) else None
