"""Every page as people meet it: both themes, two widths, without a mouse."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from django.urls import URLResolver
from playwright.sync_api import Page, Route, expect

from console.urls import urlpatterns as console_routes
from controlplane.access import principals, role_bindings
from controlplane.events import log
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.agents.models import Agent
from tests.browser.conftest import NARROW, Look, LookAround, hindrances
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
    "api-reference": "/api-reference",
    "api-operation": "/api-reference/overrides_put",
}


def test_every_page_hinders_nobody(page: Page, look: Look) -> None:
    for name, address in PAGES.items():
        look(name, address)
    page.context.clear_cookies()
    look("login", "/login")


def other_addresses() -> list[str]:
    """Return the addresses without an argument that no test of this folder names: new pages among them."""
    sources = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*.py"))
    addresses = {f"/{route}" for route in _routes("", console_routes) if "<" not in route}
    return sorted(address for address in addresses if f'"{address}' not in sources)


def _routes(prefix: str, patterns: list[Any]) -> Iterator[str]:
    for pattern in patterns:
        if isinstance(pattern, URLResolver):
            yield from _routes(f"{prefix}{pattern.pattern}", pattern.url_patterns)
        else:
            yield f"{prefix}{pattern.pattern}"


def test_pages_that_no_other_test_looks_at_hinder_nobody(page: Page, look_around: LookAround) -> None:
    for address in other_addresses():
        answer = page.request.get(address, headers={"Accept": "text/html"}, max_redirects=0)
        if (
            answer.status == 200
            and "text/html" in answer.headers["content-type"]
            and "<main" in answer.text()
        ):
            page.goto(address)
            look_around(page, address)


def test_the_palette_is_used_without_a_mouse(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("Control+k")
    field = page.get_by_role("combobox", name="Page, action or object")
    expect(field).to_be_focused()
    expect(page.get_by_role("option").first).to_be_visible()
    assert hindrances(page) == []

    page.keyboard.type("prod-eu-1")
    expect(page.get_by_role("option", name="prod-eu-1", exact=True)).to_have_attribute(
        "aria-selected", "true"
    )
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/agents/"))

    page.set_viewport_size(NARROW)
    page.get_by_role("button", name="Go to").click()
    page.keyboard.type("cr tok")
    expect(page.get_by_role("option", name="Create token")).to_have_attribute("aria-selected", "true")
    page.get_by_role("option", name="Create token").click()
    page.wait_for_url(re.compile("/tokens#new-token"))


def test_times_follow_the_zone_of_the_frame(page: Page) -> None:
    page.goto("/audit")
    # The zone of Chromium here may be UTC too; the choice shows in the button's value.
    page.locator("form.zone button").click()
    expect(page.locator("form.zone button")).to_have_attribute("value", "UTC")
    page.goto("/time-zone")
    page.get_by_label("Named zone").fill("Asia/Tokyo")
    page.get_by_role("button", name="Use zone").click()
    expect(page.locator("form.zone button")).to_have_text("Tokyo")
    page.goto("/audit")
    expect(page.locator("main time").first).to_have_attribute("title", re.compile("JST$"))


def test_a_row_opens_beside_its_table_and_columns_are_remembered(page: Page) -> None:
    page.goto("/audit")
    page.get_by_role("link", name=re.compile("^Details of")).first.click()
    details = page.get_by_role("complementary")
    expect(details).to_be_visible()
    assert hindrances(page) == []
    page.go_back()
    expect(details).to_be_hidden()

    page.locator(".chooser summary").click()
    # Only headings have the arrow that tells of sorting.
    arrow = "element => getComputedStyle(element, '::after').content"
    assert page.get_by_role("link", name="Reset columns").evaluate(arrow) == "none"
    page.get_by_label("Object type").last.check()
    page.get_by_role("button", name="Show columns").click()
    page.goto("/audit")
    expect(page.get_by_role("columnheader", name="Object type")).to_be_visible()


def test_the_keyboard_leads_everywhere(page: Page) -> None:
    page.goto("/")
    page.keyboard.press("g")
    page.keyboard.press("f")
    page.wait_for_url(re.compile("/agents"))
    expect(page.get_by_role("heading", name="Agents", exact=True)).to_be_visible()

    page.keyboard.press("?")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog", name="Keyboard shortcuts")).to_be_hidden()

    page.keyboard.press("/")
    # Letters typed before the field has the focus would be shortcuts.
    expect(page.get_by_role("searchbox", name="Search")).to_be_focused()
    page.keyboard.type("recomm")
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("/search"))
    # Scripts run after the page is there: before, no key is a shortcut.
    page.wait_for_load_state("domcontentloaded")
    page.keyboard.press("j")
    expect(page.locator("main [data-rows] a").first).to_be_focused()
    page.keyboard.press("Enter")
    page.wait_for_url(re.compile("project=recommender"))


def test_a_menu_closes_by_escape_and_by_a_click_elsewhere(page: Page) -> None:
    page.goto(f"/agents/{Agent.objects.get(name='prod-eu-1').id}")
    button, choice = page.get_by_text("More actions"), page.get_by_role("link", name="Transfer agent")
    expect(choice).to_be_hidden()
    button.focus()
    page.keyboard.press("Enter")
    expect(choice).to_be_visible()
    assert hindrances(page) == []
    page.keyboard.press("Escape")
    expect(choice).to_be_hidden()
    expect(button).to_be_focused()

    page.set_viewport_size(NARROW)
    button.click()
    box = choice.bounding_box()
    assert box
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= NARROW["width"]
    page.get_by_role("heading", name="prod-eu-1").click()
    expect(choice).to_be_hidden()
    button.click()
    choice.click()
    expect(page).to_have_title(re.compile("Transfer"))


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
