"""Every page as people meet it: both themes, two widths, without a mouse."""

from __future__ import annotations

import re

from playwright.sync_api import Page, Route, expect

from controlplane.access import principals, role_bindings
from controlplane.events import log
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.browser.conftest import Look
from tests.support.api_client import ACTOR

WORKFLOW = "project=flytesnacks&domain=development&workflow=MyExampleWorkflow"
# name of the picture, address
PAGES = {
    "dashboard": "/",
    "effective": f"/overrides?{WORKFLOW}",
    "edit": f"/overrides/task_resource/edit?{WORKFLOW}",
    "history": f"/overrides/task_resource/history?{WORKFLOW}",
    "compare": "/overrides/compare?project=flytesnacks&other_project=billing",
    "pod-preview": "/overrides/pod-preview?project=flytesnacks",
    "projects": "/projects",
    "project": "/projects/flytesnacks",
    "guard-rails": "/guard-rails",
    "guard-rail-editor": "/guard-rails:new",
    "scheduled-changes": "/override-changes?state=all",
    "freezes": "/override-freezes",
    "freeze-declare": "/override-freezes:declare?project=flytesnacks",
    "change-requests-all": "/change-requests?view=all",
    "approval-policies": "/approval-policies",
    "approval-policy": "/approval-policies:create?project=flytesnacks",
    "types": "/resource-types",
    "type": "/resource-types/task_resource",
    "type-editor": "/resource-types:new",
    "copy": f"/overrides/task_resource/copy?{WORKFLOW}",
    "search": "/search?q=flyte",
    "sessions": "/sessions",
    "identity-providers": "/identity-providers",
    "password": "/account/password",
}


def test_every_page_hinders_nobody(page: Page, look: Look) -> None:
    for name, address in PAGES.items():
        look(name, address)
    page.context.clear_cookies()
    look("login", "/login")


def test_the_keyboard_leads_everywhere(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("f")
    expect(page.get_by_role("heading", name="Agents", exact=True)).to_be_visible()

    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()

    page.keyboard.press("/")
    page.keyboard.type("recomm")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/search"))
    page.keyboard.press("j")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("project=recommender"))


def test_the_theme_stays_as_chosen(page: Page) -> None:
    page.goto("/")
    page.get_by_role("button", name="dark").click()
    page.reload()

    assert page.evaluate("getComputedStyle(document.documentElement).colorScheme") == "dark"
    expect(page.get_by_role("button", name="dark")).to_have_attribute("aria-pressed", "true")


def test_the_dashboard_follows_what_happens(page: Page) -> None:
    page.goto("/")
    expect(page.locator("[data-live-badge]")).to_have_text("live")

    person = principals.create_principal("newcomer", kind="service", actor=ACTOR)
    role_bindings.bind_role(person, Role.VIEWER, Scope(), actor=ACTOR)

    expect(page.locator("#recent")).to_contain_text("newcomer")


def test_what_happens_before_the_page_listens_is_not_missed(page: Page) -> None:
    routes: list[Route] = []

    # Playwright marks its handlers, which a list's own method does not take.
    def hold(route: Route) -> None:
        routes.append(route)

    page.route("**/api/v1/events", hold)
    last_shown = log.last_number()
    page.goto("/")

    principals.create_principal("newcomer", kind="service", actor=ACTOR)
    expect(page.locator("#recent")).not_to_contain_text("newcomer")
    # Asked so, and not for what is new: how far back that reaches is chance.
    assert routes[0].request.headers["last-event-id"] == str(last_shown)
    routes[0].continue_()

    expect(page.locator("#recent")).to_contain_text("newcomer")
