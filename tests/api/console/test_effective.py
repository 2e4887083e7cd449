"""The page of effective values tells of guard rails and platform defaults."""

from html import unescape

import pytest
from django.test import Client

from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.editing.guard_rails import GuardRailSpec, put_rail
from overrides.editing.writes import delete_override, put_override
from overrides.loading.platform_defaults import platform_defaults
from overrides.resolution.addresses import Address
from tests.support.api_client import ACTOR, make_project


@pytest.fixture
def browser(db):
    person = principals.create_principal("jane", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(person, Role.ADMIN, Scope(), actor=ACTOR)
    client = Client()
    client.force_login(person)
    return client


@pytest.fixture
def defaults(settings, tmp_path):
    path = tmp_path / "platform.yaml"
    path.write_text("kind: platformDefaults\nspec:\n  workflowExecutionConfig: {maxParallelism: 25}\n")
    settings.PLATFORM_DEFAULTS_PATH = str(path)
    platform_defaults.cache_clear()
    yield
    platform_defaults.cache_clear()


def test_a_value_that_a_guard_rail_refuses_is_struck_through_with_the_reason(browser):
    put_override(Address("workflow_execution_config", Scope()), {"max_parallelism": 500}, actor=ACTOR)
    rail = GuardRailSpec(
        "cap", Scope(domain="production"), "workflow_execution_config", "/max_parallelism", {"maximum": 100}
    )
    put_rail(rail, actor=ACTOR, accept_existing=True)

    page = browser.get("/overrides?domain=production").content.decode()

    assert "<s>500</s>" in page
    assert "rejected by the guard rail cap: the maximum is 100" in page


def test_a_platform_default_is_called_so(browser, defaults):
    page = browser.get("/overrides").content.decode()

    assert "platform default" in page
    assert '<td data-label="Effective value" class="value">25</td>' in page


def test_what_a_guard_rail_allows_is_said_where_it_governs(browser):
    put_override(Address("workflow_execution_config", Scope()), {"max_parallelism": 50}, actor=ACTOR)
    rule = {"maximum": 100, "minimum": 2, "lock_below": "project_domain"}
    place = Scope(domain="production")
    put_rail(
        GuardRailSpec(
            "cap", place, "workflow_execution_config", "/max_parallelism", rule, "Ask us for more."
        ),
        actor=ACTOR,
    )

    inside = browser.get("/overrides?domain=production").content.decode()
    outside = browser.get("/overrides?domain=staging").content.decode()

    assert "at least 2; at most 100; locked below the level project-domain" in inside
    assert "Guard rail cap of domain=production: Ask us for more." in inside
    assert 'aria-label="Guard rails"' not in outside


def test_the_values_on_the_page_are_copied_as_a_request_a_command_and_yaml(browser):
    put_override(Address("workflow_execution_config", Scope()), {"max_parallelism": 50}, actor=ACTOR)

    page = unescape(browser.get("/overrides?domain=production").content.decode())

    assert "/api/v1/overrides/effective?domain=production" in page
    assert "cpctl explain --domain production" in page
    assert "workflow_execution_config:\n  max_parallelism: 50\n" in page


def test_values_that_contradict_each_other_are_a_warning(browser):
    """A deletion may leave a limit below a default that a scope below sets."""
    make_project()
    here, above = Scope(project="flytesnacks", domain="development"), Scope(project="flytesnacks")
    put_override(Address("task_resource", above), {"limits": {"cpu": "2"}}, actor=ACTOR)
    put_override(Address("task_resource", here), {"limits": {"cpu": "8"}, "defaults": {}}, actor=ACTOR)
    below = Scope(project="flytesnacks", domain="development", workflow="w")
    put_override(Address("task_resource", below), {"defaults": {"cpu": "6"}}, actor=ACTOR)
    delete_override(Address("task_resource", here), actor=ACTOR)

    page = unescape(
        browser.get("/overrides?project=flytesnacks&domain=development&workflow=w").content.decode()
    )

    assert "The limit of cpu, 2, is below its default, 6." in page


def test_a_setting_is_explained_below_its_row_and_closed_again(browser):
    put_override(Address("workflow_execution_config", Scope()), {"max_parallelism": 50}, actor=ACTOR)
    put_override(
        Address("workflow_execution_config", Scope(domain="production")), {"max_parallelism": 9}, actor=ACTOR
    )
    setting = "/overrides?domain=production&why=workflow_execution_config/max_parallelism"

    closed = unescape(browser.get("/overrides?domain=production&only_set=1").content.decode())
    opened = unescape(browser.get(f"{setting}&only_set=1").content.decode())
    other = browser.get("/overrides?domain=production&why=<b>x").content.decode()

    assert f"{setting.replace('&why', '&only_set=1&why')}#why".removeprefix("/overrides") in closed
    assert "Why max_parallelism" not in closed + other
    assert "<b>x" not in other
    explanation = opened.partition('aria-label="Why max_parallelism"')[2].partition("</section>")[0]
    assert "Applies: the most specific value applies." in explanation
    assert "Does not apply: a more specific scope sets another value." in explanation
    assert explanation.count(f'v1</td>\n<td data-label="Changed by">{ACTOR.name}') == 2
    assert '"?domain=production&only_set=1#workflow_execution_config"' in opened


def test_only_levels_with_values_are_columns_and_other_pages_are_linked_as_far_as_they_are_readable(browser):
    make_project()
    put_override(Address("workflow_execution_config", Scope()), {"max_parallelism": 50}, actor=ACTOR)
    reader = principals.create_principal("joe", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(reader, Role.VIEWER, Scope(project="flytesnacks"), actor=ACTOR)
    joe = Client()
    joe.force_login(reader)

    for client, may_read_all in ((browser, True), (joe, False)):
        page = client.get("/overrides?project=flytesnacks&domain=development").content.decode()
        head = page.partition("<thead>")[2].partition("</thead>")[0]
        assert ">global<" in head
        assert ">project-domain<" in head
        assert ">domain<" not in head
        assert ">project<" not in head
        assert ('href="/overrides"' in head) is may_read_all
        assert ("Set override" in page) is may_read_all
