"""The dashboard when much is wrong, and for somebody who may read little."""

from __future__ import annotations

import re
import signal
import time
from datetime import timedelta

from django.db import transaction
from django.db.models.functions import Now
from playwright.sync_api import Browser, Page, expect

from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.agents.models import Agent
from registry.agents.states import State
from registry.agents.transitions import move
from registry.environments.guarding import environment_id_of
from registry.environments.models import Environment
from tests.browser.conftest import WIDE, Look, log_in
from tests.browser.test_fleet import publish
from tests.conftest import System
from tests.support.api_client import ACTOR


def storm(live: System) -> None:
    """Twenty environments and the whole fleet are silent, and a claim is lost."""
    # A sweep would lift guards of agents that do not exist. One may be under way.
    live.beat.send_signal(signal.SIGSTOP)
    time.sleep(1.5)
    for name in ("", *(f"edge-{number:02}" for number in range(20))):
        environment_id_of(name)
        Environment.objects.filter(name=name).update(
            guard_engaged_at=Now() - timedelta(minutes=40),
            guard_due_count=19_400 if not name else 970,
            guard_agent_count=20_012 if not name else 1_000,
            guard_reason="Many agents are silent.",
        )
    publish(("acme", "acme_sensor"), ("rival", "acme_sensor"))


def test_a_mass_event_leaves_the_pages_usable(live: System, page: Page, look: Look) -> None:
    storm(live)
    look("storm", "/")

    page.set_viewport_size(WIDE)
    page.goto("/")
    expect(page.locator(".incident")).to_have_count(1)
    expect(page.locator(".incident-line")).to_contain_text("19,400 of 20,012 agents silent since")
    expect(page.locator(".incident-line")).to_contain_text("Probably the network or this control plane")
    # The counts by state are seen without scrolling, and nothing that loads later pushes them down.
    expect(page.locator("#installation")).to_contain_text("CpFleetGuard (*, edge-00, edge-01 and 18 more)")
    box = page.locator("#agents-by-state").bounding_box()
    assert box
    assert box["y"] < 500
    # What has loaded later outlives the next event, which replaces what is around.
    principals.create_principal("newcomer", kind="service", actor=ACTOR)
    expect(page.locator("#recent")).to_contain_text("newcomer")
    expect(page.locator("#installation")).to_contain_text("CpFleetGuard", timeout=1)
    page.get_by_role("link", name="Review fleet guards").click()
    expect(page.get_by_role("row")).to_have_count(22)


def test_which_agents_died_and_who_changed_what_takes_two_clicks(page: Page) -> None:
    for name in ("prod-eu-1", "dev-laptop-1"):
        with transaction.atomic():
            move(
                Agent.objects.get(name=name),
                State.UNAVAILABLE,
                reason="No heartbeat for 95 s.",
                actor="sweep",
            )
    page.goto("/")

    # Which agents died in the last hour, and why: one click.
    page.get_by_role("link", name="Show silent agents").click()
    expect(page.get_by_role("row")).to_have_count(3)
    expect(page.get_by_role("row").nth(1)).to_contain_text("No heartbeat for 95 s.")

    # Who changed it: on the page itself, and one click to what was changed.
    page.goto("/")
    expect(page.locator("#recent .feed").last).to_contain_text("by system:")
    page.get_by_role("link", name="All changes").click()
    expect(page.get_by_role("heading", name="Audit log")).to_be_visible()
    expect(page.get_by_role("row").nth(1)).to_contain_text("ago")


def test_the_timeline_is_read_without_its_picture(page: Page) -> None:
    with transaction.atomic():
        move(Agent.objects.get(name="prod-eu-1"), State.UNAVAILABLE, reason="Silent.", actor="sweep")
    page.goto("/?since=15m")

    expect(
        page.get_by_role("img", name=re.compile(r"Agents silent: 1, most at \d\d:\d\d UTC"))
    ).to_be_visible()
    page.get_by_text("Show as table").click()
    expect(page.get_by_role("region", name="Events by time").get_by_role("row").nth(1)).to_contain_text("1")
    page.get_by_role("link", name="day", exact=True).click()
    expect(page.get_by_role("heading", name="Last day")).to_be_visible()


def test_the_strip_of_a_new_agent_is_empty_before_it_existed(page: Page) -> None:
    agent = Agent.objects.get(name="prod-eu-1")
    Agent.objects.filter(id=agent.id).update(created_at=Now() - timedelta(hours=3))
    with transaction.atomic():
        move(agent, State.UNAVAILABLE, reason="Silent.", actor="sweep")
        move(agent, State.READY, reason="It is back.", actor="sweep")

    page.goto(f"/agents/{agent.id}")

    first = page.locator(".strip rect").first
    assert float(first.get_attribute("x") or 0) > 870
    expect(page.get_by_text("No records before")).to_be_visible()


def test_a_reader_of_a_project_is_told_what_was_not_looked_at(
    chromium: Browser, live: System, page: Page
) -> None:
    storm(live)
    person = principals.create_principal("vera", kind=PrincipalKind.PERSON, actor=ACTOR)
    role_bindings.bind_role(person, Role.VIEWER, Scope(project="flytesnacks"), actor=ACTOR)
    context = chromium.new_context(base_url=live.url, viewport=WIDE)
    log_in(context, live, person)
    theirs = context.new_page()
    theirs.goto("/")

    expect(theirs.get_by_text("Not checked, because your roles do not allow it: the fleet.")).to_be_visible()
    expect(theirs.get_by_text("all well")).to_have_count(0)
    context.close()
