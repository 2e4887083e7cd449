"""Lists of projects: search, state and order."""

from __future__ import annotations

from urllib.parse import urlencode

import pytest

from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.models import Project
from tests.support.api_client import Api, logged_in, token_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def api() -> Api:
    api = Api(token_for("admin"))
    for name, title in (("ads", "Zebra"), ("billing", "Ads money"), ("weather", "Rain")):
        assert api.post("scopes/projects", {"id": name, "name": title}).status_code == 201
    api.patch("scopes/projects/weather", {"state": "archived"})
    return api


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("", ["ads", "billing", "weather"]),
        ("q=ADS", ["ads", "billing"]),
        ("q=zq", []),
        ("state=archived", ["weather"]),
        ("state=active&sort=-id", ["billing", "ads"]),
        ("sort=name", ["billing", "weather", "ads"]),
        ("sort=-updated_at", ["weather", "billing", "ads"]),
        ("sort=created_at&limit=1", ["ads"]),
    ],
)
def test_projects_are_found_and_sorted(api: Api, query: str, names: list[str]) -> None:
    assert [item["id"] for item in api.get(f"scopes/projects?{query}").json()["items"]] == names


@pytest.mark.parametrize(
    ("query", "hint"), [("sort=updated", "updated_at"), ("state=archive", "archived"), ("qq=a", "")]
)
def test_a_mistake_names_what_is_meant(api: Api, query: str, hint: str) -> None:
    refused = api.get(f"scopes/projects?{query}")

    assert refused.status_code == 400
    assert hint in str(refused.json()["errors"][0])


def test_who_reads_one_project_finds_no_other(api: Api) -> None:
    viewer = Api(token_for("viewer", scope=Scope(project="ads")))

    assert [item["id"] for item in viewer.get("scopes/projects?q=a").json()["items"]] == ["ads"]


def test_labels_select_projects_and_one_without_labels_has_none_of_them(api: Api) -> None:
    labels = {"ads": {"team": "ml", "tier": "gold"}, "billing": {"team": "core"}, "weather": None}
    for name, chosen in labels.items():
        Project.objects.filter(id=name).update(labels=chosen)

    def named(selector: str) -> list[str]:
        answer = api.get(f"scopes/projects?{urlencode({'selector': selector})}")
        return [item["id"] for item in answer.json()["items"]]

    assert named("team=ml") == ["ads"]
    assert named("team in (ml,core)") == ["ads", "billing"]
    assert named("team!=ml") == ["billing", "weather"]
    assert named("!team") == ["weather"]
    refused = api.get("scopes/projects?selector=team%3D%3Dml%3D")
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "?selector")

    browser = logged_in("jane", Role.ADMIN)
    page = browser.get("/projects", {"selector": "tier"}).content.decode()
    assert (">ads<" in page, ">billing<" in page) == (True, False)
    assert "cpctl projects list -l tier" in page
    refused = browser.get("/projects", {"selector": "a=b=c"})
    assert (refused.status_code, "The search was not run." in refused.content.decode()) == (422, True)
