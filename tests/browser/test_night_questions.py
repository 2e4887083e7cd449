"""Questions at night, from the dashboard: each has its answer after a few clicks; a result is one."""

from __future__ import annotations

import re

import pytest
from playwright.sync_api import Locator, Page, expect

from controlplane.identity.actors import Actor
from controlplane.scopes import Scope
from overrides.editing.writes import put_override
from overrides.resolution.addresses import Address
from tests.browser.conftest import LookAround

KIND = "workflow_execution_config"
PLACE = Scope("development", "flytesnacks")
WORKFLOW = Scope("development", "flytesnacks", "MyExampleWorkflow")
COLLEAGUE = Actor(None, "ada", reason="Load test of Friday.")


class Clicks:
    """A person who counts clicks."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.count = 0

    def __call__(self, target: Locator) -> None:
        target.click()
        self.count += 1

    def find(self, text: str, result: str) -> None:
        """Type into the palette and choose the result."""
        self.page.keyboard.press("Control+k")
        expect(self.page.get_by_role("combobox", name="Page, action or object")).to_be_focused()
        self.page.keyboard.type(text)
        self(self.page.get_by_role("option", name=result, exact=True))

    def open_setting(self, name: str) -> Locator:
        self(self.page.get_by_role("link", name=name, exact=True))
        return self.explanation(name)

    def explanation(self, name: str) -> Locator:
        return self.page.get_by_role("region", name=f"Why {name}")


@pytest.fixture
def clicks(page: Page) -> Clicks:
    put_override(Address(KIND, PLACE), {"max_parallelism": 12}, actor=COLLEAGUE)
    put_override(Address(KIND, PLACE), {"max_parallelism": 10}, actor=COLLEAGUE)
    put_override(
        Address(KIND, PLACE), {"max_parallelism": 10, "interruptible": True}, actor=Actor(None, "bob")
    )
    page.goto("/")
    return Clicks(page)


def test_why_is_this_value_10(clicks: Clicks) -> None:
    clicks.find("MyExampleW", str(WORKFLOW))
    explanation = clicks.open_setting("max_parallelism")

    first = explanation.get_by_role("row").nth(1)
    expect(first).to_contain_text("project-domain")
    expect(first).to_contain_text("10")
    expect(first).to_contain_text("The most specific value applies.")
    expect(explanation.get_by_role("row").filter(has_text="global")).to_contain_text(
        "A more specific scope sets another value."
    )
    assert clicks.count <= 2


def test_who_changed_it(clicks: Clicks) -> None:
    clicks.find("max_parallelism=10", f"max_parallelism=10 at {PLACE}")

    # A value that is found is explained at once.
    first = clicks.explanation("max_parallelism").get_by_role("row").nth(1)
    # bob wrote the last version of the document, and did not touch this value.
    expect(first).to_contain_text("ada")
    expect(first).to_contain_text("Load test of Friday.")
    assert clicks.count <= 1

    clicks(first.get_by_role("link", name="v3"))
    change = clicks.page.locator("section").filter(has_text="Version 2 → version 3")
    expect(change.get_by_role("row", name=re.compile("max_parallelism"))).to_contain_text("12")
    assert clicks.count <= 2


def test_what_would_break_if_it_changed(clicks: Clicks, look_around: LookAround) -> None:
    clicks.find("MyExampleW", str(WORKFLOW))
    explanation = clicks.open_setting("max_parallelism")
    clicks(explanation.get_by_role("row").nth(1).get_by_role("link", name="What if removed"))

    removal = explanation.get_by_role("status")
    expect(removal).to_contain_text("Effective values change at 1 scope")
    expect(removal.get_by_role("row", name=re.compile("MyExampleWorkflow"))).to_contain_text("25")
    assert clicks.count <= 3
    # The same link closes it, and keeps the focus.
    expect(explanation.get_by_role("link", name="Close preview")).to_be_focused()
    look_around(clicks.page, "effective")

    # The address alone shows the same, as to a colleague.
    clicks.page.reload()
    expect(removal).to_contain_text("Effective values change at 1 scope")


def test_where_it_is_changed(clicks: Clicks) -> None:
    clicks.find("MyExampleW", str(WORKFLOW))
    explanation = clicks.open_setting("max_parallelism")
    clicks(explanation.get_by_role("row").nth(1).get_by_role("link", name="Edit at this level"))

    expect(clicks.page.get_by_role("heading", level=1)).to_contain_text(str(PLACE))
    assert clicks.count <= 3
