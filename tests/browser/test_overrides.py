"""Editing overrides as people do it, without a mouse and against each other."""

from __future__ import annotations

import re

from django.conf import settings
from playwright.sync_api import Page, Request, expect

from controlplane.formats import strict_yaml
from controlplane.identity.actors import system
from controlplane.scopes import Scope
from overrides.editing.resource_types import create_type
from overrides.editing.writes import get_override, put_override
from overrides.resolution.addresses import Address
from tests.browser.conftest import LookAround, hindrances
from tests.support.paths import ROOT

PLACE = Address("task_resource", Scope("development", "flytesnacks", "MyExampleWorkflow"))
WORKFLOW = "project=flytesnacks&domain=development&workflow=MyExampleWorkflow"
EDIT = f"/overrides/task_resource/edit?{WORKFLOW}"


def tab_to(page: Page, words: str) -> None:
    """Press Tab until the focus lies on what has this name."""
    for _ in range(120):
        page.keyboard.press("Tab")
        name = page.evaluate(
            "(document.activeElement.labels?.[0] ?? document.activeElement).innerText?.trim() ?? ''"
        )
        if name.startswith(words):
            return
    raise AssertionError(f"Tab never came to {words!r}")


def test_an_override_is_edited_previewed_and_saved_with_the_keyboard_alone(page: Page) -> None:
    page.goto(f"/overrides?{WORKFLOW}")
    tab_to(page, "Edit")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/edit"))

    tab_to(page, "CPU limit")
    page.keyboard.press("Control+a")
    page.keyboard.type("8")
    with page.expect_response(re.compile("/fields")):
        page.keyboard.press("Tab")
    expect(page.locator("#yaml")).to_have_value(re.compile("cpu: '8'"))

    tab_to(page, "Preview")
    page.keyboard.press("Enter")
    expect(page.locator("#plan")).to_be_focused()
    expect(page.locator("#plan ins").first).to_have_text("8")
    assert hindrances(page) == []

    tab_to(page, "Save")
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Saved as version 2")
    assert get_override(PLACE).attributes["limits"]["cpu"] == "8"


def test_a_pod_is_previewed_from_the_example(page: Page, look_around: LookAround) -> None:
    definition = strict_yaml.load((ROOT / "examples/resource-types/k8s_plugin.yaml").read_text())
    create_type(definition["definition"], actor=system("tests"))
    tolerations = {"default_tolerations": [{"key": "flyte.org/tasks", "operator": "Exists"}]}
    put_override(Address("k8s_plugin", Scope(project="flytesnacks")), tolerations, actor=system("tests"))
    page.goto("/overrides?project=flytesnacks")
    page.get_by_role("link", name="Preview pod").click()
    page.get_by_role("link", name="Fill in example").click()
    page.get_by_role("button", name="Preview pod").click()

    expect(page.get_by_role("link", name="project=flytesnacks, v1").first).to_be_visible()
    expect(page.locator("#pod pre")).to_contain_text("imagePullPolicy: Always")
    look_around(page, "pod-preview-result")


def test_a_field_that_was_just_left_is_in_the_preview(page: Page) -> None:
    page.goto(EDIT)
    # A slow line: the click comes long before the YAML does.
    page.route(re.compile("/fields"), lambda route: (page.wait_for_timeout(300), route.continue_())[1])

    page.get_by_label("Memory limit").fill("4Gi")
    page.get_by_role("button", name="Preview changes").click()

    expect(page.locator("#plan ins").first).to_have_text("4Gi")


def test_a_conflict_on_save_loses_nothing_that_was_typed(page: Page) -> None:
    page.goto(EDIT)
    page.locator("#yaml").fill("limits: {cpu: '8'} # my reasons")
    put_override(PLACE, {"limits": {"cpu": "5"}}, actor=system("colleague"))

    page.get_by_role("button", name="Preview changes").click()

    expect(page.get_by_role("heading", name="Edit conflict")).to_be_visible()
    expect(page.locator("#yaml")).to_have_value("limits: {cpu: '8'} # my reasons")
    expect(page.locator("#conflict")).to_contain_text("conflict")
    assert hindrances(page) == []
    page.get_by_role("button", name="Preview changes").click()
    page.get_by_role("button", name="Save override").click()
    expect(page.locator("#toasts")).to_contain_text("Saved as version 3")


def test_what_was_typed_outlives_the_session(page: Page) -> None:
    page.goto(EDIT)
    page.locator("#yaml").fill("limits: {cpu: '9'}")
    cookies = page.context.cookies()
    # A session ends on the server; the cookie of the CSRF token stays.
    page.context.clear_cookies(name=settings.SESSION_COOKIE_NAME)

    with page.expect_response(re.compile("/fields")):
        page.locator("#yaml").type(" ")
    expect(page.get_by_role("dialog", name="You are logged out")).to_be_visible()
    page.context.add_cookies(cookies)
    page.goto(EDIT)

    expect(page.locator("#yaml")).to_have_value(re.compile("cpu: '9'"))
    expect(page.get_by_text("Your draft was restored.")).to_be_visible()
    page.get_by_role("button", name="Discard draft").click()
    expect(page.locator("#yaml")).to_have_value(re.compile("cpu: '3'"))


def test_labels_are_added_and_removed_as_rows(page: Page, look_around: LookAround) -> None:
    page.goto(f"/overrides/workflow_execution_config/edit?{WORKFLOW}")
    page.get_by_role("button", name="Add row to Labels").click()
    row = page.get_by_role("group", name="Labels").locator(".pair").last
    row.get_by_label("Name").fill("tier")
    with page.expect_response(re.compile("/fields")):
        row.get_by_label("Value").fill("gold")
        row.get_by_label("Value").press("Tab")
    expect(page.locator("#yaml")).to_have_value(re.compile("tier: gold"))
    look_around(page, "edit-rows")

    row.get_by_role("button").click()
    expect(page.locator("#yaml")).not_to_have_value(re.compile("tier: gold"))


def test_the_tree_is_filtered_while_typing(page: Page) -> None:
    page.goto("/overrides")
    with page.expect_response(re.compile("/overrides/scopes")):
        page.get_by_role("searchbox", name="Filter scopes").fill("myexample")

    tree = page.get_by_role("navigation", name="Scopes")
    expect(tree.get_by_role("link", name=re.compile("MyExampleWorkflow"))).to_be_visible()
    expect(tree.get_by_role("link", name=re.compile("billing"))).to_have_count(0)
    assert hindrances(page) == []
    tree.get_by_role("link", name=re.compile("MyExampleWorkflow")).click()
    page.wait_for_url(re.compile("workflow=MyExampleWorkflow"))


def test_a_setting_opens_below_its_row_with_the_keyboard_and_stays_focused(
    page: Page, look_around: LookAround
) -> None:
    page.goto(f"/overrides?{WORKFLOW}")
    tab_to(page, "limits › cpu")
    page.keyboard.press("Enter")

    explanation = page.get_by_role("region", name="Why limits › cpu")
    expect(explanation.get_by_role("row")).to_have_count(3)
    expect(explanation.get_by_role("row").nth(1)).to_contain_text("The most specific value applies.")
    expect(page).to_have_url(re.compile("why=task_resource/limits/cpu"))
    setting = page.get_by_role("link", name="limits › cpu")
    expect(setting).to_be_focused()
    expect(setting).to_have_attribute("aria-expanded", "true")
    look_around(page, "effective")

    page.keyboard.press("Enter")
    expect(explanation).to_have_count(0)
    expect(page).not_to_have_url(re.compile("why="))


def test_an_explanation_is_not_closed_by_a_reload_that_began_before_it(page: Page) -> None:
    page.goto(f"/overrides?{WORKFLOW}")
    # The reload of the page's live part is never answered.
    page.route(
        re.compile(r"/overrides\?"),
        lambda route: None if _is_live_reload(route.request) else route.continue_(),
    )
    with page.expect_request(_is_live_reload):
        page.evaluate("htmx.trigger('#applies', 'live')")

    with page.expect_event("requestfailed", _is_live_reload):
        page.get_by_role("link", name="limits › cpu").click()

    expect(page.get_by_role("region", name="Why limits › cpu")).to_be_visible()


def _is_live_reload(request: Request) -> bool:
    return request.headers.get("hx-request") == "true" and "why=" not in request.url
