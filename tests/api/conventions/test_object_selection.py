"""Reads of single objects: `only` and `omit`, as in lists."""

from __future__ import annotations

import pytest

from tests.support.api_client import AGENT, Api, make_project

pytestmark = pytest.mark.django_db
OVERRIDE = "overrides/task_resource?project=ads"


@pytest.fixture
def agent(api: Api) -> str:
    made = api.post("agents", {**AGENT, "labels": {"team": "ml", "tier": "gold"}})
    return f"agents/{made.json()['agent_id']}"


def test_a_read_returns_the_selected_fields(api: Api, agent: str) -> None:
    assert api.get(f"{agent}?only=name,labels.team").json() == {"name": "a1", "labels": {"team": "ml"}}
    whole, less = api.get(agent).json(), api.get(f"{agent}?omit=labels.tier,name").json()
    del whole["name"], whole["labels"]["tier"]
    assert less.keys() == whole.keys()
    assert less["labels"] == {"team": "ml"}


def test_it_works_beside_other_parameters_and_versions(api: Api) -> None:
    make_project("ads")
    api.put(OVERRIDE, {"attributes": {"limits": {"cpu": "2"}}})
    read = api.get(f"{OVERRIDE}&only=attributes.limits,version")
    assert read.json() == {"attributes": {"limits": {"cpu": "2"}}, "version": 1}
    assert api.get(f"{OVERRIDE}&only=version", If_None_Match=read["ETag"]).status_code == 304


def test_a_digest_is_that_of_the_selected_part(api: Api, agent: str) -> None:
    part = api.get(f"{agent}?only=name")
    assert part["ETag"] == api.get(f"{agent}?only=name")["ETag"] != api.get(agent)["ETag"]
    assert api.get(f"{agent}?only=name", If_None_Match=part["ETag"]).status_code == 304


@pytest.mark.parametrize("name", ["only", "omit"])
def test_an_unknown_field_is_refused_with_the_nearest(api: Api, agent: str, name: str) -> None:
    (error,) = api.get(f"{agent}?{name}=lables").json()["errors"]
    assert (error["pointer"], error["hint"]) == (f"?{name}", "Did you mean 'labels'?")


def test_what_reads_no_object_does_not_take_it(api: Api) -> None:
    make_project("ads")
    api.put(OVERRIDE, {"attributes": {"limits": {"cpu": "2"}}})
    blame = api.get(f"{OVERRIDE.replace('?', '/blame?')}&only=items")
    deletion = api.delete(f"{OVERRIDE}&only=version", If_Match="*")
    assert [blame.json()["errors"][0]["code"], deletion.json()["errors"][0]["code"]] == [
        "unknown_parameter",
        "unknown_parameter",
    ]
