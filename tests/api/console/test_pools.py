"""Pages of pools: who uses the units, create and change, limits, revocations, and who sees them."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client

from controlplane.access.models import AuditRecord
from controlplane.identity.roles import Role
from controlplane.pools import leasing
from controlplane.pools.models import Pool, PoolLease, PoolLimit
from controlplane.pools.operations import Acquire
from controlplane.scopes import Scope
from tests.support.api_client import logged_in

FORM = {"capacity": "2", "unit": "GPU", "title": "", "lease_seconds": "60", "is_open": "yes", "reason": "new"}
ML, DATA = Scope("prod", "ml"), Scope("prod", "data")


@pytest.fixture
def browser(db: None) -> Client:
    return logged_in("jane", Role.ADMIN)


def text_of(answer: Any) -> str:
    return answer.content.decode()


def lease(pool: Pool, token: str, scope: Scope = ML) -> None:
    leasing.run(pool.id, Acquire(token, scope, is_queued=True))


def test_a_pool_is_created_changed_and_deleted(browser):
    assert "No pools" in text_of(browser.get("/pools"))
    assert browser.post("/pools:new", {**FORM, "name": "gpu"})["Location"] == "/pools"
    pool = Pool.objects.get()
    assert (pool.name, pool.capacity, pool.unit, pool.lease_seconds) == ("gpu", 2, "GPU", 60)
    assert AuditRecord.objects.get(action="pool.created").reason == "new"
    assert "0 of 2 units in use" in text_of(browser.get("/pools"))
    assert (
        browser.post("/pools/gpu/edit", {**FORM, "capacity": "5", "is_open": "no"})["Location"]
        == "/pools/gpu"
    )
    pool.refresh_from_db()
    assert (pool.capacity, pool.is_open) == (5, False)
    assert "The pool grants nothing." in text_of(browser.get("/pools/gpu"))
    assert browser.post("/pools/gpu/delete", {"reason": ""})["Location"] == "/pools"
    assert not Pool.objects.exists()


@pytest.mark.parametrize(("field", "value"), [("name", "Not A Name"), ("capacity", "-1"), ("capacity", "")])
def test_a_form_that_is_wrong_keeps_its_input_and_creates_nothing(browser, field, value):
    answer = browser.post("/pools:new", {**FORM, "name": "gpu", "unit": "kept-unit", field: value})
    assert answer.status_code == 400
    assert "kept-unit" in text_of(answer)
    assert not Pool.objects.exists()


def test_the_page_names_who_holds_and_who_waits(browser):
    pool = Pool.objects.create(name="agent-service:default", capacity=1)
    lease(pool, "holder-work")
    lease(pool, "waiting-work", DATA)
    text = text_of(browser.get("/pools/agent-service:default"))
    for words in ("holder-work", "waiting-work", "1 of 1 units in use", "1 request waits.", "project=ml"):
        assert words in text


def test_a_limit_is_set_and_removed(browser):
    Pool.objects.create(name="gpu", capacity=9)
    page = "/pools/gpu/limit"
    form = {"project": "ml", "domain": "", "cap": "3", "guaranteed": "1", "weight": ""}
    assert browser.post(page, form)["Location"] == "/pools/gpu"
    limit = PoolLimit.objects.get()
    assert (limit.project, limit.cap, limit.guaranteed, limit.weight) == ("ml", 3, 1, None)
    assert 'value="3"' in text_of(browser.get(f"{page}?project=ml"))
    refused = browser.post(page, {**form, "guaranteed": "10"})
    assert refused.status_code == 400
    assert "cannot use 10 guaranteed units with a cap of 3" in text_of(refused)
    browser.post("/pools/gpu/remove-limit?project=ml", {"reason": ""})
    assert not PoolLimit.objects.exists()


def test_a_lease_is_revoked_after_a_question(browser):
    pool = Pool.objects.create(name="gpu", capacity=1)
    lease(pool, "stuck")
    page = f"/pools/gpu/leases/{PoolLease.objects.get().id}/revoke"
    assert "Its holder learns of it" in text_of(browser.get(page))
    assert PoolLease.objects.get().state == "granted"
    assert browser.post(page, {"reason": "machine gone"})["Location"] == "/pools/gpu"
    assert PoolLease.objects.get().state == "revoked"
    assert browser.post(page, {"reason": ""}).status_code == 409


def test_a_pool_with_leases_is_deleted_only_if_asked_twice(browser):
    pool = Pool.objects.create(name="gpu", capacity=1)
    lease(pool, "work")
    assert browser.post("/pools/gpu/delete", {"reason": ""}).status_code == 409
    assert browser.post("/pools/gpu/delete", {"reason": "", "force": "on"}).status_code == 302
    assert not Pool.objects.exists()


def test_a_viewer_of_a_project_sees_its_leases_alone(browser):
    pool = Pool.objects.create(name="gpu", capacity=2)
    lease(pool, "own-work")
    lease(pool, "other-work", DATA)
    viewer = logged_in("vera", Role.VIEWER, Scope(project="ml"))
    text = text_of(viewer.get("/pools/gpu"))
    assert "own-work" in text
    assert "other-work" not in text
    assert "/pools/gpu/edit" not in text
    for page in ("/pools:new", "/pools/gpu/edit", "/pools/gpu/limit", "/pools/gpu/delete"):
        assert viewer.get(page).status_code == 403
    assert viewer.get("/pools/nothing").status_code == 404


def test_quotas_have_their_own_list_and_page(browser):
    assert "No quotas" in text_of(browser.get("/pools?kind=quota"))
    quota = {"name": "quota:override-documents", "capacity": "2", "title": "", "is_open": "yes"}
    assert browser.post("/pools:new", {**FORM, **quota})["Location"] == "/pools"
    assert "quota:override-documents" not in text_of(browser.get("/pools"))
    shown = text_of(browser.get("/pools?kind=quota"))
    assert "0 of 2" in shown
    assert "Override documents" in shown
    page = text_of(browser.get("/pools/quota:override-documents"))
    assert "A quota counts what exists" in page
    assert "Waiting requests" not in page
    assert "lease_seconds" not in text_of(browser.get("/pools/quota:override-documents/edit"))


def test_a_quota_is_changed_and_tells_that_it_is_full(browser):
    Pool.objects.create(name="quota:agents", capacity=3, lease_seconds=0)
    form = {"capacity": "0", "title": "All agents", "is_open": "yes", "reason": ""}
    assert browser.post("/pools/quota:agents/edit", form)["Location"] == "/pools/quota:agents"
    pool = Pool.objects.get()
    assert (pool.capacity, pool.title, pool.unit, pool.lease_seconds) == (0, "All agents", "agent", 0)
    assert "Set limit" not in text_of(browser.get("/pools/quota:agents"))
    browser.post("/pools/quota:agents/edit", {**form, "is_open": "no"})
    assert "The quota is closed" in text_of(browser.get("/pools/quota:agents"))
