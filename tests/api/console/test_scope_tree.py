"""The scope tree of the overrides page with a filter, and the search for values."""

from __future__ import annotations

import re

import pytest
from django.test import Client

from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.editing.writes import put_override
from overrides.models import Project
from overrides.resolution.addresses import Address
from tests.support.api_client import ACTOR, logged_in, make_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser() -> Client:
    make_project("ads")
    make_project("billing")
    set_parallelism(10, project="ads", domain="production", workflow="Train")
    return logged_in("jane", Role.ADMIN)


def set_parallelism(value: int, **segments: str) -> None:
    address = Address("workflow_execution_config", Scope(**segments))
    put_override(address, {"max_parallelism": value}, actor=ACTOR)


def shown(browser: Client, address: str) -> list[str]:
    """Return the labels of the tree's nodes."""
    text = browser.get(address).content.decode()
    tree = text.partition('<div id="scopes"')[2].partition("</div>")[0]
    return re.findall(r">([^<]+)<span class=\"count\"", tree)


@pytest.mark.parametrize("page", ["/overrides", "/overrides/scopes"])
def test_names_of_scopes_are_filtered(browser: Client, page: str) -> None:
    assert shown(browser, f"{page}?tree_filter=BILL") == ["billing"]
    assert shown(browser, f"{page}?tree_filter=train") == ["ads", "production", "Train"]
    assert shown(browser, f"{page}?tree_filter=staging") == ["staging"]
    assert {"global", "ads", "billing"} < set(shown(browser, page))


def test_a_filter_without_a_match_tells_so(browser: Client) -> None:
    assert "No scope matches “zq”" in browser.get("/overrides/scopes?tree_filter=zq").content.decode()
    assert browser.get("/overrides/scopes?tree_filter=%00").status_code == 200
    assert browser.get("/overrides?tree_filter=%5C%25").status_code == 200
    assert browser.get("/overrides/scopes?launch_plan=x").status_code == 422


def test_a_project_beyond_the_first_ones_is_found_and_counted(browser: Client) -> None:
    Project.objects.bulk_create(Project(id=f"p-{number:03}") for number in range(250))

    assert "p-249" not in shown(browser, "/overrides")
    assert "52 more projects. Filter by name." in browser.get("/overrides").content.decode()
    assert shown(browser, "/overrides?tree_filter=p-249") == ["p-249"]
    assert "p-249" in shown(browser, "/overrides?project=p-249")


def test_who_reads_one_project_finds_no_other(browser: Client) -> None:
    set_parallelism(4, project="billing", domain="production", workflow="TrainBills")
    viewer = logged_in("viewer", Role.VIEWER, Scope(project="ads"))

    assert shown(viewer, "/overrides/scopes?project=ads&tree_filter=train") == ["ads", "production", "Train"]
    assert viewer.get("/overrides/scopes?project=billing&tree_filter=train").status_code == 403
    assert viewer.get("/overrides/scopes?tree_filter=train").status_code == 403


@pytest.mark.parametrize("page", ["/search", "/palette"])
def test_a_value_is_found_where_it_is_set(browser: Client, page: str) -> None:
    set_parallelism(10, project="billing")
    found = browser.get(f"{page}?q=max_parallelism%3D10").content.decode()

    assert "project=ads domain=production workflow=Train" in found
    place = "/overrides?project=billing&amp;why=workflow_execution_config/max_parallelism"
    assert f"{place}#workflow_execution_config" in found
    assert "project=ads" not in browser.get(f"{page}?q=max_parallelism%3D11").content.decode()
    viewer = logged_in("viewer", Role.VIEWER, Scope(project="ads"))
    limited = viewer.get(f"{page}?q=max_parallelism%3D10").content.decode()
    assert "project=ads domain=production" in limited
    assert "project=billing" not in limited
