"""The page of effective values tells of guard rails and platform defaults."""

import re
from dataclasses import replace
from html import unescape

import pytest
from django.test import Client

from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.editing.guard_rails import GuardRailSpec, put_rail
from overrides.editing.writes import delete_override, get_override, put_override
from overrides.loading.platform_defaults import platform_defaults
from overrides.models import Override, SourceState
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
    assert "The most specific value applies." in explanation
    assert "A more specific scope sets another value." in explanation
    assert explanation.count(f'<td data-label="Set by">{ACTOR.name} <small') == 2
    assert "/overrides/workflow_execution_config/edit?domain=production" in explanation
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


def test_an_explanation_names_the_version_that_set_the_value_and_links_to_what_it_changed(browser):
    address = Address("workflow_execution_config", Scope(domain="production"))
    for parallelism, interruptible in ((5, True), (7, True), (7, False)):
        attributes = {"max_parallelism": parallelism, "interruptible": interruptible}
        put_override(address, attributes, actor=replace(ACTOR, name=f"author-of-{parallelism}"))

    page = browser.get("/overrides?domain=production&why=workflow_execution_config/max_parallelism")
    explanation = unescape(page.content.decode()).partition('aria-label="Why')[2].partition("</section>")[0]

    assert 'history?domain=production&from=1&to=2" title="Changes of version 2">v2</a>' in explanation
    assert "author-of-7" in explanation
    assert (
        browser.get("/overrides/workflow_execution_config/history?domain=production&from=1&to=2").status_code
        == 200
    )


def test_a_removal_is_previewed_and_changes_nothing(browser):
    make_project()
    address = Address("workflow_execution_config", Scope())
    put_override(address, {"max_parallelism": 50}, actor=ACTOR)
    put_override(
        Address("workflow_execution_config", Scope(domain="production")), {"max_parallelism": 9}, actor=ACTOR
    )

    page = browser.get(
        "/overrides?domain=production&why=workflow_execution_config/max_parallelism&without=domain"
    )
    removal = unescape(page.content.decode()).partition('id="removal"')[2].partition("</section>")[0]

    assert "If max_parallelism were removed at domain production" in removal
    assert "Effective values change at <strong>2 scopes</strong>" in removal
    assert "The override sets nothing else and would be deleted." in removal
    assert re.search('data-label="Now"[^>]*>9<br></td><td data-label="If removed"[^>]*>50<br></td>', removal)
    assert get_override(Address("workflow_execution_config", Scope(domain="production"))).version == 1


@pytest.mark.parametrize("level", ["project", "global", "platform default", "nothing", "<b>"])
def test_a_removal_is_previewed_only_at_a_level_that_sets_the_value_and_that_the_caller_reads(browser, level):
    make_project()
    put_override(Address("workflow_execution_config", Scope()), {"max_parallelism": 50}, actor=ACTOR)
    place = Scope(project="flytesnacks", domain="development")
    put_override(Address("workflow_execution_config", place), {"max_parallelism": 9}, actor=ACTOR)
    reader = principals.create_principal("joe", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(reader, Role.VIEWER, place, actor=ACTOR)
    joe = Client()
    joe.force_login(reader)
    address = (
        "/overrides?project=flytesnacks&domain=development&why=workflow_execution_config/max_parallelism"
    )

    refused = joe.get(f"{address}&without={level}")
    allowed = joe.get(f"{address}&without=project-domain").content.decode()

    assert refused.status_code == 200
    assert 'id="removal"' not in refused.content.decode()
    assert "<b>" not in refused.content.decode()
    assert 'id="removal"' in allowed
    # joe writes nothing, and reads no history of all scopes.
    assert "at this level" not in allowed
    assert 'href="/overrides/workflow_execution_config/history"' not in allowed


def test_a_removal_is_previewed_where_files_refuse_changes(browser, settings):
    make_project()
    place = Scope(project="flytesnacks")
    put_override(Address("workflow_execution_config", place), {"max_parallelism": 9}, actor=ACTOR)
    settings.OVERRIDES_SOURCE = "file"
    address = "/overrides?project=flytesnacks&why=workflow_execution_config/max_parallelism&without=project"

    page = browser.get(address).content.decode()

    assert 'id="removal"' in page
    assert "at this level" not in page


def test_the_place_of_a_value_leads_to_the_git_host(browser, settings):
    make_project()
    address = Address("workflow_execution_config", Scope(project="flytesnacks"))
    put_override(address, {"max_parallelism": 9}, actor=ACTOR)
    Override.objects.filter(project="flytesnacks").update(declared_in="teams/ml.yaml:12")
    page = "/overrides?project=flytesnacks&why=workflow_execution_config/max_parallelism"
    assert "<code>teams/ml.yaml:12</code>" in browser.get(page).content.decode()

    settings.OVERRIDES_SOURCE = "file"
    SourceState.objects.update(state="current", report={"files": ["teams/ml.yaml"], "commit": "4f1c2ab" * 5})
    assert "managed by Git: <code" in browser.get(page).content.decode()
    settings.OVERRIDES_FILE_URL = "https://git.example.com/config/blob/{commit}/{file}#L{line}"
    link = f'<a href="https://git.example.com/config/blob/{"4f1c2ab" * 5}/teams/ml.yaml#L12"'
    assert link in browser.get(page).content.decode()
    assert "<code>teams/ml.yaml:12@4f1c2ab</code>" in browser.get(page).content.decode()

    settings.OVERRIDES_FILE_URL = "https://git.example.com/config/blob/main/{file}#L{line}"
    link = '<a href="https://git.example.com/config/blob/main/teams/ml.yaml#L12" rel="noreferrer"'
    assert link in browser.get(page).content.decode()


def test_without_the_global_value_the_platform_default_applies(browser, defaults):
    put_override(Address("workflow_execution_config", Scope()), {"max_parallelism": 50}, actor=ACTOR)

    page = browser.get(
        "/overrides?why=workflow_execution_config/max_parallelism&without=global"
    ).content.decode()
    removal = page.partition('id="removal"')[2]

    assert re.search('data-label="Now"[^>]*>50<br></td><td data-label="If removed"[^>]*>25<br></td>', removal)


def test_the_history_of_a_level_that_the_caller_may_not_read_stays_hidden(browser):
    make_project()
    address = Address("workflow_execution_config", Scope())
    put_override(address, {"max_parallelism": 50}, actor=replace(ACTOR, name="first-author"))
    put_override(
        address, {"max_parallelism": 50, "interruptible": True}, actor=replace(ACTOR, name="last-author")
    )
    reader = principals.create_principal("joe", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(reader, Role.VIEWER, Scope(project="flytesnacks"), actor=ACTOR)
    joe = Client()
    joe.force_login(reader)
    setting = "/overrides?project=flytesnacks&why=workflow_execution_config/max_parallelism"

    explanations = [
        client.get(setting).content.decode().partition('aria-label="Why')[2].partition("</section>")[0]
        for client in (browser, joe)
    ]

    assert ["first-author" in each for each in explanations] == [True, False]
    # The layer itself, with its last author, is a part of the effective values.
    assert "last-author" in explanations[1]
