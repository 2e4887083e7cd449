"""Pages of guard rails: list, preview, save, remove, and rights."""

from __future__ import annotations

import html
import re

import pytest

from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.models import GuardRailRow
from tests.support.api_client import Api, logged_in, make_project, token_for

pytestmark = pytest.mark.django_db
CAP = {
    "name": "parallel-cap",
    "resource_type": "workflow_execution_config",
    "pointer": "/max_parallelism",
    "maximum": "8",
    "project": "ads",
    "reason": "The cluster is small.",
    "version": "0",
}


@pytest.fixture
def browser(db):
    make_project("ads")
    return logged_in("jane", Role.ADMIN)


def text_of(answer) -> str:
    return answer.content.decode()


def stored() -> GuardRailRow | None:
    return GuardRailRow.objects.present().filter(name="parallel-cap").first()


def test_an_empty_list_says_what_a_guard_rail_is_with_a_command(browser):
    page = text_of(browser.get("/guard-rails"))

    assert "No guard rails" in page
    assert "guard-rails/cpu-cap" in page


def test_a_preview_shows_what_breaks_it_and_saves_nothing(browser):
    api = Api(token_for(Role.ADMIN))
    body = {"attributes": {"max_parallelism": 20}}
    put = api.put("overrides/workflow_execution_config?project=ads", body, If_None_Match="*")
    assert put.status_code == 201

    preview = browser.post("/guard-rails:new", {**CAP, "do": "preview"})

    assert preview.status_code == 200
    assert "Overrides that break it" in text_of(preview)
    assert "max_parallelism" in text_of(preview)
    assert stored() is None
    refused = browser.post("/guard-rails:new", {**CAP, "do": "save"})
    assert refused.status_code == 409
    assert "Accept overrides that break it" in text_of(refused)
    assert stored() is None
    saved = browser.post("/guard-rails:new", {**CAP, "do": "save", "accept_existing": "on"})
    assert saved["Location"] == "/guard-rails/parallel-cap"
    assert stored().rule == {"maximum": 8}


def test_a_guard_rail_is_listed_changed_and_removed(browser):
    browser.post("/guard-rails:new", {**CAP, "do": "save"})

    listed = text_of(browser.get("/guard-rails?resource_type=workflow_execution_config"))
    assert "at most 8" in listed
    assert "The cluster is small." in text_of(browser.get("/guard-rails/parallel-cap"))
    assert 'value="8"' in text_of(browser.get("/guard-rails/parallel-cap/edit"))
    outdated = browser.post(
        "/guard-rails/parallel-cap/edit", {**CAP, "maximum": "9", "version": "7", "do": "save"}
    )
    assert outdated.status_code == 412
    browser.post("/guard-rails/parallel-cap/edit", {**CAP, "maximum": "9", "version": "1", "do": "save"})
    assert stored().rule == {"maximum": 9}
    removed = browser.post("/guard-rails/parallel-cap/edit", {**CAP, "version": "2", "do": "delete"})
    assert removed["Location"] == "/guard-rails"
    assert stored() is None


def test_a_deleted_guard_rail_is_seen_and_restored(browser):
    browser.post("/guard-rails:new", {**CAP, "do": "save"})
    assert "No deleted guard rails" in text_of(browser.get("/guard-rails?deleted=yes"))
    browser.post("/guard-rails/parallel-cap/edit", {**CAP, "version": "1", "do": "delete"})

    assert ">parallel-cap</a>" not in text_of(browser.get("/guard-rails"))
    assert ">parallel-cap</a>" in text_of(browser.get("/guard-rails?deleted=yes"))
    deleted = text_of(browser.get("/guard-rails/parallel-cap"))
    assert "Deleted:" in deleted
    assert "Restore guard rail" not in text_of(logged_in("joe", Role.VIEWER).get("/guard-rails/parallel-cap"))
    editor = re.search(r'href="(/guard-rails:new\?[^"]+)"', deleted)
    form = text_of(browser.get(html.unescape(editor[1])))
    assert 'value="/max_parallelism"' in form
    assert 'value="8"' in form
    browser.post("/guard-rails:new", {**CAP, "do": "save"})

    assert (stored().rule, stored().version) == ({"maximum": 8}, 2)
    assert "Deleted:" not in text_of(browser.get("/guard-rails/parallel-cap"))
    assert "No deleted guard rails" in text_of(browser.get("/guard-rails?deleted=yes"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pointer": "/nothing"}, "has no field"),
        ({"maximum": ""}, "at least one"),
        ({"minimum": "9"}, "maximum is below minimum"),
        ({"maximum": "[1"}, "not valid"),
        ({"name": "Not A Name"}, "lower-case"),
        ({"project": "nowhere"}, "does not exist"),
        ({"version": "x"}, "not a number"),
    ],
)
def test_a_mistake_keeps_the_form(browser, change, message):
    answer = browser.post("/guard-rails:new", {**CAP, **change, "do": "save"})

    assert answer.status_code in (400, 404, 422), answer.status_code
    assert message in text_of(answer)
    assert "The cluster is small." in text_of(answer)
    assert stored() is None


def test_only_who_may_write_guard_rails_does_and_others_of_another_scope_do_not_exist(browser):
    browser.post("/guard-rails:new", {**CAP, "do": "save"})
    make_project("maps")
    viewer = logged_in("vera", Role.VIEWER, scope=Scope(project="maps"))

    assert "parallel-cap" not in text_of(viewer.get("/guard-rails"))
    assert viewer.get("/guard-rails/parallel-cap").status_code == 404
    assert viewer.get("/guard-rails:new").status_code == 403
    assert viewer.post("/guard-rails/parallel-cap/edit", {**CAP, "do": "delete"}).status_code == 403
    assert stored()


def test_a_name_in_use_elsewhere_is_taken(browser):
    browser.post("/guard-rails:new", {**CAP, "do": "save"})
    make_project("maps")
    admin = logged_in("mia", Role.ADMIN, scope=Scope(project="maps"))

    answer = admin.post("/guard-rails:new", {**CAP, "project": "maps", "do": "save"})

    assert answer.status_code in (403, 409)
    assert stored().project == "ads"
