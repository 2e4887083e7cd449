"""A change is requested at a protected scope, approved by another person, and published."""

from __future__ import annotations

import re

from playwright.sync_api import Browser, Page, expect

from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.approvals.changes import create_policy
from overrides.editing.writes import get_override
from tests.browser.conftest import WIDE, LookAround, log_in
from tests.browser.test_overrides import EDIT, PLACE
from tests.conftest import System
from tests.support.api_client import ACTOR


def test_a_change_is_requested_approved_by_another_person_and_published(
    page: Page, chromium: Browser, live: System, look_around: LookAround
) -> None:
    grace = principals.create_principal("grace", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(grace, Role.ADMIN, Scope(), actor=ACTOR)
    create_policy(Scope("development"), approvals=1, reason="Careful", actor=ACTOR)

    page.goto(EDIT)
    expect(page.get_by_text("Changes here need 1 approval by others.")).to_be_visible()
    page.locator("#yaml").fill("limits: {cpu: '8'}")
    page.get_by_label("Reason").fill("Training")
    page.get_by_role("button", name="Preview changes").click()
    expect(page.get_by_role("button", name="Save override")).to_have_count(0)
    page.get_by_role("button", name="Request change").click()
    expect(page.locator("#toasts")).to_contain_text("Change requested.")
    expect(page.get_by_role("button", name="Approve change")).to_have_count(0)

    context = chromium.new_context(base_url=live.url, viewport=WIDE, reduced_motion="reduce")
    log_in(context, live, grace)
    reviewer = context.new_page()
    reviewer.goto("/change-requests")
    look_around(reviewer, "change-requests")
    reviewer.get_by_role("link", name="task_resource").click()
    look_around(reviewer, "change-request")
    reviewer.get_by_role("textbox", name="Comment").fill("Fine")
    reviewer.get_by_role("button", name="Approve change").click()
    expect(reviewer.locator("#toasts")).to_contain_text("Change approved.")
    context.close()

    page.goto("/change-requests?view=mine")
    page.get_by_role("link", name="task_resource").click()
    expect(page.get_by_text("Fine", exact=True)).to_be_visible()
    page.get_by_role("button", name="Publish change").click()
    expect(page.locator("#toasts")).to_contain_text("Change published.")
    expect(page.locator(".facts")).to_contain_text(re.compile("published"))
    assert get_override(PLACE).attributes == {"limits": {"cpu": "8"}}
