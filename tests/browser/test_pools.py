"""Pages of pools, as people meet them; a lease that is revoked without a mouse."""

from __future__ import annotations

from playwright.sync_api import Page, expect

from controlplane.pools import leasing
from controlplane.pools.limits import LimitSpec, put_limit
from controlplane.pools.models import Pool
from controlplane.pools.operations import Acquire
from controlplane.pools.pools import PoolSpec, create_pool
from controlplane.preconditions import Precondition
from controlplane.scopes import Scope
from tests.browser.conftest import LookAround
from tests.support.api_client import ACTOR


def make_pools() -> Pool:
    """Pools in each state; one with holders, waiting requests and limits, which is returned."""
    pool = Pool.objects.create(name="agent-service:default", capacity=4, unit="task", title="Flyte agents")
    Pool.objects.create(name="closed", capacity=0, is_open=False)
    Pool.objects.create(name="gpu", capacity=8, unit="GPU")
    for number in range(6):
        scope = Scope("production", "ml" if number % 2 else "analytics")
        token = f"ex:{scope.project}:production:f{number:06x}-train-model-0"
        leasing.run(pool.id, Acquire(token, scope, is_queued=True))
    put_limit(
        pool, Scope(project="ml"), LimitSpec(cap=3, guaranteed=1, weight=300), precondition=None, actor=ACTOR
    )
    return pool


def test_a_lease_is_revoked_without_a_mouse(page: Page, look_around: LookAround) -> None:
    make_pools()
    page.goto("/pools")
    look_around(page, "pools")
    page.get_by_role("link", name="agent-service:default", exact=True).focus()
    page.keyboard.press("Enter")
    expect(page.locator("#pool .headline")).to_contain_text("2 requests wait")
    look_around(page, "pool")
    page.get_by_role("link", name="Revoke").first.focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", level=1)).to_contain_text("Revoke the lease")
    look_around(page, "pool-revoke")
    page.get_by_label("Reason").fill("Its machine is gone.")
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Revoked the lease")
    expect(page.locator(".headline")).to_contain_text("1 request waits")


def test_a_limit_is_set_without_a_mouse(page: Page, look_around: LookAround) -> None:
    make_pools()
    page.goto("/pools/gpu")
    page.get_by_role("link", name="Set limit").focus()
    page.keyboard.press("Enter")
    page.get_by_label("Project").fill("ml")
    page.get_by_label("Cap").fill("2")
    look_around(page, "pool-limit")
    page.get_by_role("button", name="Save limit").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("cell", name="0 of 2")).to_be_visible()


def test_quotas_are_found_beside_pools(page: Page, look_around: LookAround) -> None:
    make_pools()
    quota = create_pool("quota:override-documents", PoolSpec(2), team=None, actor=ACTOR)
    put_limit(
        quota,
        Scope(project="ml"),
        LimitSpec(cap=1),
        precondition=Precondition(any_version=True),
        actor=ACTOR,
    )
    page.goto("/pools")
    page.get_by_role("link", name="Quotas").click()
    expect(page.get_by_role("cell", name="Override documents")).to_be_visible()
    look_around(page, "quotas")
    page.get_by_role("link", name="quota:override-documents", exact=True).click()
    expect(page.locator("#pool .headline")).to_contain_text("override documents")
    expect(page.get_by_role("cell", name="0 of 1")).to_be_visible()
    look_around(page, "quota")
