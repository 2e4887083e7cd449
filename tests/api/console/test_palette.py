"""The command palette, the search by kinds, the time zone, and pages that are not there."""

from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest
from django.test import Client
from django.urls import reverse

from console.palette import matches
from console.palette_actions import ACTIONS
from console.shown_zone import read_zone
from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind, Token
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.api.console.test_navigation import EVERYWHERE, PROJECT, TEAM, browser_of
from tests.support.api_client import ACTOR, Api, make_project

pytestmark = pytest.mark.django_db


def page(browser: Client, address: str) -> str:
    return browser.get(address).content.decode()


@pytest.mark.parametrize("where", [EVERYWHERE, PROJECT, TEAM])
@pytest.mark.parametrize("role", [Role.VIEWER, Role.EDITOR, Role.ADMIN, Role.OPERATOR])
def test_each_action_that_is_offered_opens(role: Role, where: str) -> None:
    browser = browser_of(role, where)
    offered = set(re.findall(r'href="([^"]+)"', page(browser, "/palette?q=")))
    for action in ACTIONS:
        shown = page(browser, f"/palette?q={action.title}")
        if f'href="{action.url}"' in shown:
            assert browser.get(action.url, follow=True).status_code == 200, action.title
    assert reverse("tokens") in offered
    assert all(browser.get(address).status_code in (200, 302) for address in offered)


def test_who_may_not_read_agents_finds_none() -> None:
    browser = browser_of(Role.VIEWER, PROJECT)
    make_project("billing")

    assert "Drain agents" not in page(browser, "/palette?q=drain")
    assert ">billing<" not in page(browser, "/palette?q=billing")
    assert ">ads<" in page(browser, "/palette?q=ads")
    assert "Nothing matches" in page(browser, "/palette?q=zqzq")
    assert browser.get("/palette?q=%00").status_code == 200
    assert Client().get("/palette?q=a").status_code == 302


@pytest.mark.parametrize(
    ("query", "is_match"),
    [("", True), ("tok", True), ("cr tok", True), ("TOKEN create", True), ("oken", False)],
)
def test_words_are_found_by_how_they_begin(query: str, is_match: bool) -> None:
    assert matches(query, "Create token") is is_match


def test_more_results_of_a_kind_are_one_click_away() -> None:
    browser = browser_of(Role.ADMIN, EVERYWHERE)
    for number in range(45):
        make_project(f"zq-{number:02}")

    first = page(browser, "/search?q=zq-")
    assert ">zq-19<" in first
    assert ">zq-20<" not in first
    assert "kind=projects&amp;start=20" in first
    last = page(browser, "/search?q=zq-&kind=projects&start=40")
    assert ">zq-44<" in last
    assert "Show more" not in last
    assert browser.get("/search?q=zq-&start=%C2%B2").status_code == 200


def test_times_are_shown_in_the_chosen_zone() -> None:
    browser = browser_of(Role.ADMIN, EVERYWHERE)
    browser.post("/tokens", {"name": "ci", "days": "30"})
    Token.objects.update(created_at=datetime(2026, 7, 1, 12, tzinfo=UTC))
    assert 'title="2026-07-01 12:00:00 UTC"' in page(browser, "/tokens")

    answer = browser.post("/time-zone", {"zone": "Asia/Tokyo", "next": "/audit"})
    assert (answer.status_code, answer["Location"]) == (302, "/audit")
    assert 'title="2026-07-01 21:00:00 JST"' in page(browser, "/tokens")

    browser.cookies["cp-browser-zone"] = "Europe/Berlin"
    browser.post("/time-zone", {"zone": "browser"})
    assert 'title="2026-07-01 14:00:00 CEST"' in page(browser, "/tokens")


@pytest.mark.parametrize("zone", ["Nowhere/Land", "../../etc/passwd", "", "\x00"])
def test_a_zone_that_does_not_exist_is_refused(zone: str) -> None:
    browser = browser_of(Role.VIEWER, EVERYWHERE)
    answer = browser.post("/time-zone", {"zone": zone, "next": "https://evil.example.com/"})
    assert "cp-zone" not in answer.cookies
    assert (
        browser.post("/time-zone", {"zone": "UTC", "next": "https://evil.example.com/"})["Location"]
        == "/time-zone"
    )
    assert read_zone({"cp-zone": zone, "cp-browser-zone": zone}).name == "UTC"
    assert read_zone({"cp-zone": "browser", "cp-browser-zone": zone}).name == "UTC"


def test_an_unknown_path_is_a_page_for_browsers_and_a_problem_for_programs() -> None:
    browser = browser_of(Role.VIEWER, EVERYWHERE)
    as_page = browser.get("/nope", headers={"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert as_page.status_code == 404
    assert "<h1>Page not found</h1>" in as_page.content.decode()
    assert reverse("overrides") in as_page.content.decode()
    for address, accept in (("/nope", "*/*"), ("/nope", "application/json"), ("/api/v1/nope", "text/html")):
        answer = browser.get(address, headers={"Accept": accept})
        assert (answer.status_code, answer["Content-Type"]) == (404, "application/problem+json"), address


def test_who_may_not_open_a_page_learns_who_can_grant_it() -> None:
    root = principals.create_principal("root", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(root, Role.ADMIN, Scope(), actor=ACTOR)
    ended = principals.create_principal("gone", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(ended, Role.ADMIN, Scope(), actor=ACTOR)
    principals.set_active("gone", is_active=False, actor=ACTOR)

    answer = browser_of(Role.VIEWER, PROJECT).get("/people")

    assert answer.status_code == 403
    text = answer.content.decode()
    assert "These administrators can give you a role: <strong>root</strong>." in text
    assert "POST /api" not in text


def test_pools_guard_rails_and_teams_are_found(api: Api) -> None:
    rail = {"name": "zq-cap", "resource_type": "task_resource", "pointer": "/limits/cpu"}
    assert api.put("guard-rails/zq-cap", {**rail, "rule": {"maximum": "8"}}).status_code == 201
    assert api.put("pools/zq-pool", {"capacity": 5}).status_code == 201
    assert api.post("teams", {"slug": "zq-team", "title": "ZQ"}).status_code == 201
    links = [f'href="{path}"' for path in ("/pools/zq-pool", "/guard-rails/zq-cap", "/teams/zq-team")]

    everything = page(browser_of(Role.ADMIN, EVERYWHERE), "/search?q=zq")
    assert [link in everything for link in links] == [True, True, True]
