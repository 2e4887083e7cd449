"""Pages of sinks and deliveries, as people meet them; a sink that is made and tested without a mouse."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from controlplane.access.models import Principal
from controlplane.database.clock import database_now
from controlplane.delivery.dispatcher import dispatch_batch
from controlplane.delivery.models import Delivery, DeliveryAttempt, Sink
from controlplane.delivery.relay import EventRelay
from controlplane.delivery.replays import start_replay
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import create_sink, pause_sink, rotate_secret
from controlplane.identity.actors import Actor
from tests.browser.conftest import LookAround
from tests.support.api_client import ACTOR, make_project
from tests.support.webhook_receiver import Received, Receiver, Reply, running_receiver


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.WEBHOOK_ALLOW_HTTP = True
    with running_receiver() as receiver:
        yield receiver


def relay_step_until(attempts: int) -> None:
    """Dispatch, and relay until so many attempts were made."""
    dispatch_batch()
    relay = EventRelay()
    while DeliveryAttempt.objects.count() < attempts:
        relay.step()
    relay._threads.shutdown()


def refuse_ads(request: Received) -> Reply:
    failed = "ads" in request.event["subject"]
    return Reply(503, body=b'{"error": "The queue of the receiver is full."}') if failed else Reply()


def make_sinks(jane: Principal, receiver: Receiver) -> Delivery:
    """Sinks in each state; one with deliveries of which one fails. Returns that one."""
    receiver.reply = refuse_ads
    actor = Actor(jane.id, jane.name)

    def sink(name: str, **filter: Any) -> Sink:
        config = {"url": f"{receiver.url}/{name}"}
        return create_sink(SinkTerms(name, config, filter=filter), team=None, actor=actor)[0]

    incidents = sink("incidents", types=["project.*"], expression="EXISTS cpseq", labels={})
    for number in range(12):
        make_project(f"shop-{number}")
    make_project("ads")
    relay_step_until(13)
    rotate_secret(incidents, overlap=timedelta(hours=24), actor=ACTOR)
    start_replay(incidents, after=0, until=None, types=[], actor=ACTOR)
    pause_sink(sink("ticketing", types=["agent.unavailable"]), actor=ACTOR)
    sink("archive")
    Sink.objects.filter(name="archive").update(state="disabled", reason="gone")
    return Delivery.objects.get(state="waiting")


def test_a_sink_is_made_tested_and_mended_without_a_mouse(
    page: Page, receiver: Receiver, look_around: LookAround
) -> None:
    page.goto("/sinks:new")
    page.get_by_label("Name").fill("incidents")
    page.get_by_label("URL").fill(receiver.url)
    page.get_by_label("Event types").fill("project.created")
    page.get_by_role("button", name="Preview filter").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Preview: nothing is saved yet")).to_be_visible()
    look_around(page, "sink-preview")
    page.get_by_role("button", name="Create sink").focus()
    page.keyboard.press("Enter")
    expect(page.locator(".secret")).to_contain_text("whsec_")
    look_around(page, "sink-secret")
    page.get_by_role("button", name="Send test event").focus()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Answer")).to_contain_text("delivered")
    look_around(page, "sink-test-answer")
    assert receiver.received[0].event["type"] == "dev.controlplane.sink.test.v1"

    receiver.reply = refuse_ads
    make_project("ads")
    relay_step_until(1)
    page.get_by_role("link", name="Show sink").click()
    page.get_by_role("link", name="project.created").focus()
    page.keyboard.press("Enter")
    expect(page.locator("#delivery")).to_contain_text("The queue of the receiver is full.")
    receiver.reply = lambda request: Reply()
    page.get_by_role("link", name="Redeliver").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.get_by_label("Reason").fill("Mended.")
    page.keyboard.press("Enter")
    expect(page.locator("#toasts")).to_contain_text("Queued the delivery.")
    relay_step_until(2)
    # The page follows by itself.
    expect(page.locator("#delivery .headline")).to_contain_text("delivered")
    assert [request.event["id"] for request in receiver.received[1:]] == [
        str(Delivery.objects.get().event_id)
    ] * 2


def test_a_replay_says_how_many_events_it_sends_before_it_does(
    page: Page, jane: Principal, receiver: Receiver, look_around: LookAround
) -> None:
    make_project("shop")
    terms = SinkTerms("incidents", {"url": receiver.url}, filter={"types": ["project.created"]})
    sink, _ = create_sink(terms, team=None, actor=Actor(jane.id, jane.name))
    page.goto(f"/sinks/{sink.id}/replay")
    page.get_by_label("From (UTC)").fill(f"{database_now() - timedelta(hours=1):%Y-%m-%dT%H:%M}")
    page.get_by_role("button", name="Count events").click()
    count = page.get_by_role("button", name="Replay")
    expect(count).to_be_visible()
    look_around(page, "sink-replay")
    number = int((count.text_content() or "").split()[1])
    count.click()
    expect(page.locator("#sink")).to_contain_text("Replay in progress")
    assert number >= 1
