"""Pages of sinks and deliveries: create, watch, test, replay, redeliver, and who sees them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.test import Client
from standardwebhooks.webhooks import Webhook

from controlplane.access import principals
from controlplane.access.models import AuditRecord
from controlplane.access.role_bindings import bind_role, find_role
from controlplane.access.roles.custom_roles import create_role
from controlplane.access.teams.teams import create_team
from controlplane.delivery.dispatcher import dispatch_batch
from controlplane.delivery.models import Delivery, DeliveryAttempt, Replay, Sink
from controlplane.delivery.relay import EventRelay
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.identity.roles import Action, Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, logged_in, make_project
from tests.support.two_teams import browser_of
from tests.support.webhook_receiver import Receiver, Reply, running_receiver

URL = "https://203.0.113.7/hook"
FORM = {"name": "incidents", "url": URL, "ordering": "object", "max_in_flight": "8", "per_second": "50"}


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ["203.0.113.0/24", "127.0.0.0/8"]
    settings.WEBHOOK_ALLOW_HTTP = True


@pytest.fixture
def browser(db: None) -> Client:
    return logged_in("jane", Role.ADMIN)


@pytest.fixture
def receiver() -> Any:
    with running_receiver() as receiver:
        yield receiver


def text_of(answer: Any) -> str:
    return answer.content.decode()


def secret_in(answer: Any) -> str:
    return re.search(r'<code class="secret">(whsec_[^<]+)</code>', text_of(answer))[1]


def create(browser: Client, **fields: str) -> tuple[Sink, str]:
    answer = browser.post("/sinks:new", {**FORM, **fields, "save": "1"})
    assert answer.status_code == 200, text_of(answer)
    return Sink.objects.latest("created_at"), secret_in(answer)


def failing_delivery(browser: Client, receiver: Receiver) -> Delivery:
    """A delivery whose first attempt failed, by a relay step."""
    create(browser, url=receiver.url, types="project.created")
    receiver.reply = lambda request: Reply(503, body=b"no memory left")
    make_project("shop")
    dispatch_batch()
    relay = EventRelay()
    while not DeliveryAttempt.objects.exists():
        relay.step()
    relay._threads.shutdown()
    return Delivery.objects.get()


def test_a_sink_is_created_with_a_secret_that_is_shown_once_and_edited(browser):
    fields = {
        "types": "agent.*, project.created",
        "labels": "region=eu",
        "scopes": "project=shop, domain=production\nproject=ads",
        "expression": "EXISTS cpteam",
        "reason": "On call",
    }
    answer = browser.post("/sinks:new", {**FORM, **fields, "save": "1"})
    sink = Sink.objects.get()
    assert answer["Cache-Control"] == "no-store"
    secret = secret_in(answer)
    page = text_of(browser.get(f"/sinks/{sink.id}"))
    assert secret not in page
    assert [part for part in ("agent.*", "region: eu", "project: shop", "EXISTS cpteam", URL)
            if part not in page] == []  # fmt: skip
    assert sink.filter["scopes"][1]["project"] == "ads"
    assert AuditRecord.objects.get(action="sink.created").reason == "On call"

    form = text_of(browser.get(f"/sinks/{sink.id}/edit"))
    assert "domain=production, project=shop" in form
    changed = {**FORM, **fields, "name": "renamed", "labels": "", "version": "1", "save": "1"}
    assert browser.post(f"/sinks/{sink.id}/edit", changed)["Location"] == f"/sinks/{sink.id}"
    sink.refresh_from_db()
    assert (sink.name, "labels" in sink.filter, sink.filter["types"]) == (
        "renamed",
        False,
        ["agent.*", "project.created"],
    )
    stale = browser.post(f"/sinks/{sink.id}/edit", {**changed, "name": "stale"})
    assert (stale.status_code, 'value="stale"' in text_of(stale)) == (412, True)


def test_a_sink_that_signs_nothing_has_settings_in_yaml_and_no_secret(browser):
    fields = {**FORM, "url": "", "kind": "nats", "config": "subject: cp.events", "save": "1"}
    sink_page = browser.post("/sinks:new", fields)["Location"]
    sink = Sink.objects.get()
    assert (sink.kind, sink.config) == ("nats", {"subject": "cp.events"})
    text = text_of(browser.get(sink_page))
    assert "cp.events" in text
    assert "rotate-secret" not in text
    assert "subject: cp.events" in text_of(browser.get(f"{sink_page}/edit"))
    refused = browser.post("/sinks:new", {**fields, "name": "other", "config": "sbject: x"})
    assert (refused.status_code, "Did you mean" in text_of(refused)) == (400, True)


@pytest.mark.parametrize(
    ("field", "value", "part"),
    [
        ("url", "https://10.0.0.1/", "private address"),
        ("expression", "type =", "At character 7"),
        ("labels", "eu", "is not a pair"),
        ("per_second", "many", "/per_second"),
        ("name", "", "/name"),
    ],
)
def test_a_bad_form_keeps_its_input_and_stores_nothing(browser, field, value, part):
    answer = browser.post("/sinks:new", {**FORM, field: value, "team": "", "types": "a.b", "save": "1"})
    assert answer.status_code == 400
    assert part in text_of(answer)
    assert 'value="a.b"' in text_of(answer)
    assert not Sink.objects.exists()


def test_the_preview_shows_which_events_would_go_and_saves_nothing(browser):
    make_project("shop")
    make_project("ads")
    answer = browser.post("/sinks:new", {**FORM, "types": "project.*", "expression": "data.project = 'ads'"})
    text = text_of(answer)
    assert "1 would be sent" in text
    assert "project/ads" in text
    assert "project/shop" not in text
    assert not Sink.objects.exists()


def test_a_test_event_shows_the_answer_and_its_signature_verifies(browser, receiver):
    sink, secret = create(browser, url=receiver.url)
    receiver.reply = lambda request: Reply(410, body=b"not for the page")
    assert browser.get(f"/sinks/{sink.id}/test").status_code == 200
    assert receiver.received == []
    text = text_of(browser.post(f"/sinks/{sink.id}/test"))
    assert "410" in text
    assert "gone" in text
    assert "not for the page" not in text
    Webhook(secret).verify(receiver.received[0].body, receiver.received[0].headers)


def test_a_secret_is_rotated_and_the_old_one_revoked(browser, receiver):
    sink, old = create(browser, url=receiver.url)
    page = f"/sinks/{sink.id}"
    assert browser.post(f"{page}/rotate-secret", {"overlap_hours": "999"}).status_code == 400
    answer = browser.post(f"{page}/rotate-secret", {"overlap_hours": "2", "reason": "Leaked"})
    assert answer["Cache-Control"] == "no-store"
    new = secret_in(answer)
    assert "signed by two secrets until" in text_of(browser.get(page))
    browser.post(f"{page}/test")
    for secret in (old, new):
        Webhook(secret).verify(receiver.received[0].body, receiver.received[0].headers)
    browser.post(f"{page}/revoke-old", {"reason": ""})
    assert "signed by two secrets" not in text_of(browser.get(page))
    browser.post(f"{page}/test")
    assert receiver.received[1].headers["webhook-signature"].count("v1,") == 1


def test_a_sink_is_paused_resumed_and_deleted(browser):
    sink, _ = create(browser)
    page = f"/sinks/{sink.id}"
    assert browser.post(f"{page}/pause", {"reason": "Moves"})["Location"] == page
    text = text_of(browser.get(page))
    assert "A person paused the sink." in text
    assert "Every event sink is active or paused by a person." in text_of(browser.get("/"))
    assert f"{page}/resume" in text
    assert f"{page}/pause" not in text
    browser.post(f"{page}/resume", {"reason": ""})
    sink.refresh_from_db()
    assert sink.state == "active"
    assert "Its deliveries are deleted too" in text_of(browser.get(f"{page}/delete"))
    assert browser.post(f"{page}/delete", {"reason": ""})["Location"] == "/sinks"
    assert browser.get(page).status_code == 404


@pytest.mark.parametrize(
    ("state", "reason", "part"),
    [
        ("disabled", "gone", "410 Gone"),
        ("disabled", "failing", "5 days"),
        ("paused", "overflow", "100,000"),
        ("paused", "creator_disabled", "Activate the creator"),
        ("disabled", "topic_missing", "does not exist"),
        ("disabled", "unheard_of", "unheard_of"),
    ],
)
def test_a_stopped_sink_says_why_and_what_to_do(browser, state, reason, part):
    sink, _ = create(browser)
    Sink.objects.update(state=state, reason=reason)
    headline = re.search(
        r'<p class="headline">(.*?)</p>', text_of(browser.get(f"/sinks/{sink.id}")), re.DOTALL
    )[1]
    assert part in headline
    assert "resume" in headline.lower()
    assert reason.replace("_", " ") in text_of(browser.get(f"/sinks?state={state}"))
    assert f'">incidents ({state}, {reason})</a>' in text_of(browser.get("/"))
    assert f'href="/sinks/{sink.id}"' in text_of(browser.get("/search?q=cident"))
    assert "No sinks match" in text_of(browser.get("/sinks?state=%00"))


def test_a_failed_delivery_is_shown_with_its_attempt_redelivered_and_discarded(browser, receiver):
    delivery = failing_delivery(browser, receiver)
    listed = text_of(browser.get(f"/sinks/{delivery.sink_id}/deliveries?state=waiting"))
    assert "project.created" in listed
    assert "The receiver answered with 503." in listed
    assert "project.created" not in text_of(browser.get(f"/sinks/{delivery.sink_id}/deliveries?state=dead"))
    assert 'aria-label="Last 1: 1 failing"' in text_of(browser.get("/sinks"))

    page = f"/sinks/deliveries/{delivery.id}"
    text = text_of(browser.get(page))
    for part in ("no memory left", "server_error", "webhook-signature", "v1,…", "status 503", "Next attempt"):
        assert part in text
    document = re.search(r'aria-label="Event as sent">(.*?)</pre>', text, re.DOTALL)[1]
    assert "dev.controlplane.project.created.v1" in document
    assert browser.post(f"{page}/retry", {"reason": ""})["Location"] == page
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempt) == ("waiting", 0)
    browser.post(f"{page}/discard", {"reason": "By hand"})
    delivery.refresh_from_db()
    assert delivery.state == "discarded"
    again = browser.post(f"{page}/discard", {"reason": ""})
    assert (again.status_code, "discarded already" in text_of(again)) == (409, True)


def test_a_replay_is_counted_first_and_then_started_as_counted(browser):
    make_project("before")
    sink, _ = create(browser, types="project.created")
    log.number_committed()
    first = Event.objects.get(type="project.created").seq
    page = f"/sinks/{sink.id}/replay"
    since = f"{datetime.now(UTC) - timedelta(hours=1):%Y-%m-%dT%H:%M}"

    counted = text_of(browser.post(page, {"since": since}))
    assert "<li>1 event between number" in " ".join(counted.split())
    assert not Replay.objects.exists()
    after, until = (
        re.search(rf'name="{name}" value="(\d+)"><input', counted)[1] for name in ("after", "until")
    )
    assert int(after) < first <= int(until)
    make_project("later")
    form = {"after": after, "until": until, "types": "", "reason": "Lost", "start": "1"}
    assert browser.post(page, form)["Location"] == f"/sinks/{sink.id}"
    replay = Replay.objects.get()
    assert (replay.cursor_seq, replay.until_seq) == (int(after), int(until))
    assert "Replay in progress" in text_of(browser.get(f"/sinks/{sink.id}"))
    assert browser.post(page, {}).status_code == 400
    none = text_of(browser.post(page, {"after": "0", "types": "agent.*"}))
    assert "0 events between" in " ".join(none.split())
    assert 'name="start"' not in none


def test_another_team_sees_nothing_of_a_sink(browser):
    ours, _ = (create_team(slug, actor=ACTOR) for slug in ("ours", "other"))
    sink, _ = create(browser, team="other")
    delivery = Delivery.objects.create(sink=sink, seq=1, event_id=sink.id, type="agent.ready", key="agent/1")
    paths = (
        *(f"/sinks/{sink.id}{rest}" for rest in ("", "/edit", "/pause", "/test", "/replay", "/deliveries")),
        *(f"/sinks/deliveries/{delivery.id}{rest}" for rest in ("", "/retry", "/discard")),
    )
    stranger = browser_of(ours, Role.OPERATOR)
    assert {path: stranger.get(path).status_code for path in paths} == dict.fromkeys(paths, 404)
    assert "No event sinks" in text_of(stranger.get("/sinks"))
    assert f"/sinks/{sink.id}" not in text_of(stranger.get("/search?q=incidents"))


def test_who_may_only_read_a_sink_has_no_buttons_and_does_not_see_events_of_others(browser, receiver):
    delivery = failing_delivery(browser, receiver)
    create_role("watcher", title="Watches", actions={Action.SINK_READ}, actor=ACTOR)
    watcher = principals.create_principal("wanda", kind="person", actor=ACTOR)
    bind_role(watcher, find_role("watcher"), Scope(), actor=ACTOR)
    client = Client()
    client.force_login(watcher)
    page = f"/sinks/{delivery.sink_id}"
    assert re.findall(rf'href="{page}/([a-z-]+)"', text_of(client.get(page))) == ["deliveries"]
    text = text_of(client.get(f"/sinks/deliveries/{delivery.id}"))
    assert "you may not read it" in text
    assert "/retry" not in text
    assert {client.get(f"{page}/{word}").status_code for word in ("pause", "edit", "replay")} == {403}
