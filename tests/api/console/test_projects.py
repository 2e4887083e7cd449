"""Pages of projects: list with counts, one project, create, change; what may not be read does not exist."""

from __future__ import annotations

import pytest

from controlplane.access.models import AuditRecord
from controlplane.demo.seed import seed
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.models import Project, ProjectState
from tests.support.api_client import Api, logged_in, token_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(db):
    return logged_in("jane", Role.ADMIN)


def text_of(answer) -> str:
    assert answer.status_code in (200, 422), answer.status_code
    return answer.content.decode()


def test_an_empty_installation_says_what_a_project_is_and_how_to_create_one(browser):
    page = text_of(browser.get("/projects"))

    assert "No projects" in page
    assert "cpctl projects create flytesnacks" in page


def test_a_project_is_created_and_listed_with_its_counts(browser):
    form = {
        "id": "ads",
        "name": "Ads",
        "description": "",
        "labels": "team=ml, tier=gold",
        "reason": "New team.",
    }

    assert browser.post("/projects:new", form)["Location"] == "/projects"

    assert Project.objects.get(id="ads").labels == {"team": "ml", "tier": "gold"}
    assert AuditRecord.objects.get(action="project.created").reason == "New team."
    api = Api(token_for(Role.ADMIN))
    body = {"attributes": {"max_parallelism": 3}}
    put = api.put("overrides/workflow_execution_config?project=ads", body, If_None_Match="*")
    assert put.status_code == 201
    assert 'aria-label="1 override of ads">1</a>' in text_of(browser.get("/projects"))
    page = text_of(browser.get("/projects/ads"))
    assert "tier=gold" in page
    assert "override.created" in page
    assert 'href="/overrides?project=ads">all domains</a>' in page


@pytest.mark.parametrize(
    ("form", "message"),
    [
        ({"id": "Not An Id"}, "lower-case letters"),
        ({"id": ""}, "may not be blank"),
        ({"id": "ads", "labels": "team"}, "is not a label"),
        ({"id": "ads", "labels": "te am=1"}, "is not a valid Kubernetes label"),
        ({"id": "taken"}, "already exists"),
    ],
)
def test_a_mistake_keeps_the_form(browser, form, message):
    Project.objects.create(id="taken", name="taken")

    answer = browser.post("/projects:new", {"name": "My words", **form})

    assert answer.status_code in (400, 409, 422)
    assert message in answer.content.decode()
    assert 'value="My words"' in answer.content.decode()
    assert Project.objects.count() == 1


def test_a_project_is_archived(browser):
    Project.objects.create(id="ads", name="Ads")
    form = {"name": "Ads", "description": "Old.", "labels": "", "state": "archived", "version": "1"}

    assert browser.post("/projects/ads/edit", form)["Location"] == "/projects/ads"

    assert Project.objects.get(id="ads").state == ProjectState.ARCHIVED
    assert "archived" in text_of(browser.get("/projects"))


def test_a_form_that_is_out_of_date_is_refused_and_keeps_its_input(browser):
    Project.objects.create(id="ads", name="Ads")
    opened = browser.get("/projects/ads/edit").content.decode()
    assert '<input type="hidden" name="version" value="1">' in opened
    first = {"name": "Ads", "description": "First.", "labels": "", "state": "active", "version": "1"}
    browser.post("/projects/ads/edit", first)

    late = browser.post("/projects/ads/edit", {**first, "description": "Second."})

    assert late.status_code == 412
    assert "now at version &quot;v2&quot;" in late.content.decode()
    assert 'value="Second."' in late.content.decode()
    assert Project.objects.get(id="ads").description == "First."


def test_who_reads_one_project_finds_it_and_changes_nothing(browser):
    seed()
    vera = logged_in("vera", Role.VIEWER, scope=Scope(project="flytesnacks"))

    page = text_of(vera.get("/projects"))

    assert "flytesnacks" in page
    assert "billing" not in page
    assert "Create project" not in page
    assert vera.get("/projects/flytesnacks").status_code == 200
    assert vera.get("/projects/billing").status_code in (403, 404)
    assert vera.get("/projects:new").status_code == 403
    assert vera.post("/projects/flytesnacks/edit", {"name": "x"}).status_code == 403


@pytest.mark.parametrize("name", ["nowhere", "%00", "a%20b"])
def test_a_project_that_does_not_exist_is_not_found(browser, name):
    assert browser.get(f"/projects/{name}").status_code == 404


def test_the_filter_finds_ids_and_names(browser):
    Project.objects.create(id="ads", name="Advertising")
    Project.objects.create(id="maps", name="Maps")

    assert "maps" not in text_of(browser.get("/projects?q=adver")).split("<tbody>")[1]
    assert "No projects match" in text_of(browser.get("/projects?q=%00"))
