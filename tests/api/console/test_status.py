"""The page of the installation's state."""

from __future__ import annotations

from typing import Any

from django.db.models.functions import Now

from controlplane import __version__
from controlplane.identity.roles import Role
from controlplane.pools.models import PoolSweep
from controlplane.scopes import Scope
from tests.support.api_client import logged_in


def text_of(answer: Any) -> str:
    return answer.content.decode()


def test_the_page_names_what_is_wrong_and_what_to_do(db):
    browser = logged_in("jane", Role.VIEWER)
    before = text_of(browser.get("/status"))
    assert f"Version {__version__}" in before
    assert "docs/operations.md#cppooldrift" not in before
    PoolSweep.objects.update_or_create(id=1, defaults={"drift": 3, "drifted_at": Now()})
    after = text_of(browser.get("/status"))
    for words in ("CpPoolDrift", "within days", "docs/operations.md#cppooldrift", "checks fail."):
        assert words in after


def test_the_dashboard_names_what_is_wrong(db):
    browser = logged_in("jane", Role.VIEWER)
    assert 'hx-get="/dashboard/installation"' in text_of(browser.get("/"))
    assert "CpPoolDrift" not in text_of(browser.get("/dashboard/installation"))
    PoolSweep.objects.update_or_create(id=1, defaults={"drift": 3, "drifted_at": Now()})
    after = text_of(browser.get("/dashboard/installation"))
    assert "CpPoolDrift: " in after
    assert 'href="/status"' in after


def test_only_global_viewers_see_it(db):
    vera = logged_in("vera", Role.VIEWER, Scope(project="ml"))
    assert vera.get("/status").status_code == 403
    assert vera.get("/dashboard/installation").status_code == 403
    assert "/dashboard/installation" not in text_of(vera.get("/"))
