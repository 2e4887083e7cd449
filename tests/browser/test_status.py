"""The page of the installation's state, as people meet it."""

from __future__ import annotations

from django.db.models.functions import Now
from playwright.sync_api import Page, expect

from controlplane.pools.models import PoolSweep
from tests.browser.conftest import LookAround


def test_the_state_of_the_installation_is_read_without_a_mouse(page: Page, look_around: LookAround) -> None:
    PoolSweep.objects.update_or_create(id=1, defaults={"drift": 3, "drifted_at": Now()})
    page.goto("/")
    page.get_by_role("link", name="Status", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("rowheader", name="CpPoolDrift")).to_be_visible()
    look_around(page, "status")
