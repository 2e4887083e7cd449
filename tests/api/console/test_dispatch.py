"""Pages about resources: look, request, explain, and change them as the API would."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.db import transaction
from django.test import Client

from controlplane.access.models import AuditRecord
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import Role
from controlplane.messaging.dead_letters import Undelivered, store
from controlplane.messaging.envelope import Envelope
from controlplane.messaging.models import DeadLetter
from registry.agents.models import Agent
from registry.dispatch.inbound.receiving import Sender, receive_message
from registry.dispatch.models import ResourceRow
from registry.dispatch.resources.requests import ResourceRequest, create_resource
from tests.support.api_client import ACTOR, AGENT, Api, logged_in, make_project
from tests.support.two_teams import browser_of


@pytest.fixture
def browser(api: Api) -> Client:
    for name, state in (("a1", "ready"), ("a2", "draining")):
        body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
        assert api.post("agents", body).status_code == 201
        Agent.objects.filter(name=name).update(state=state)
    return logged_in("jane", Role.ADMIN)


def text_of(answer: Any) -> str:
    return answer.content.decode()


def make(resource_id: str = "web", service_type: str = "vm", **facts: Any) -> ResourceRow:
    return create_resource(ResourceRequest(resource_id, service_type, {"image": "x"}, **facts), actor=ACTOR)


def answer(kind: str, resource_id: str = "web", **data: Any) -> None:
    body = {"resource_id": resource_id, "agent_name": "a1", **data}
    receive_message(Envelope(f"{kind}-{resource_id}", "s", f"dcm.agent.{kind}", body), Sender())


def fail(resource_id: str = "web") -> None:
    answer("error", resource_id, error="NO_QUOTA", details="No quota left.")


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("", {"web", "web-2", "db"}),
        ("q=web", {"web", "web-2"}),
        ("state=failed", {"web"}),
        ("service_type=db", {"db"}),
        ("agent=a1", {"web", "web-2"}),
        ("selector=app%3Dshop", {"web-2"}),
        ("selector=app%3Dshop&state=failed", set()),
        ("q=%00", set()),
    ],
)
def test_the_list_answers_the_question_in_its_address(browser, query, ids):
    make()
    make("web-2", labels={"app": "shop"})
    make("db", "db")
    fail()

    text = text_of(browser.get(f"/resources?{query}"))
    assert set(re.findall(r'<th scope="row"[^>]*><a [^>]*>([^<]+)', text)) == ids


def test_an_invalid_selector_is_shown_with_the_form(browser):
    answer = browser.get("/resources?selector=app+is+ml")

    assert answer.status_code == 422
    assert 'value="app is ml"' in text_of(answer)


def test_the_page_of_a_resource_has_its_state_spec_and_every_message(browser):
    make(labels={"app": "shop"}, constraints={"environment": "prod"})
    answer("creation-acknowledged")
    status = {"id": "web", "status": "RUNNING", "message": "All is well.", "output_spec": {"ip": "10.0.0.1"}}
    receive_message(Envelope("s1", "p", "dcm.status.vm", status), Sender())

    text = text_of(browser.get("/resources/web"))
    headline = re.search(r'<p class="headline">(.*?)</p>', text, re.DOTALL)[1]
    assert "running" in headline
    assert headline.endswith("at a1: All is well.")
    for part in ("image: x", "ip: 10.0.0.1", "app=shop", "environment: prod"):
        assert part in text
    for what in ("assigned", "dcm.request.create", "dcm.agent.creation-acknowledged", "dcm.status"):
        assert f'<span class="mono">{what}</span>' in text


def test_the_timeline_has_states_agents_retries_and_raw_events(browser):
    make()
    fail()
    Agent.objects.filter(name="a2").update(state="ready")
    Agent.objects.filter(name="a1").update(state="draining")
    assert browser.post("/resources/web/retry", {"reason": "More quota now."}).status_code == 302

    page = text_of(browser.get("/resources/web"))
    rows = re.findall(
        r"<tr>(.*?)</tr>", page.split("<h2>Timeline</h2>")[1].split("<h2>Attempts</h2>")[0], re.DOTALL
    )
    words = [" ".join(re.sub(r"<[^>]+>", " ", row).split()) for row in rows]

    assert any("pending → failed" in row for row in words)
    assert any("Agent a1, attempt 1" in row for row in words)
    assert any("Agent a1 → a2, attempt 2" in row for row in words)
    assert any("Retry requested" in row and "jane" in row for row in words)
    assert page.count("raw event</summary>") == len(words) - 1
    assert "&quot;resource_id&quot;: &quot;web&quot;" in page


def test_secrets_are_masked_wherever_the_page_shows_a_payload(browser):
    secret = "hunter2hunter2"
    spec = {"image": "x", "env": [{"name": "DB_PASSWORD", "value": secret}], "url": f"amqp://bob:{secret}@mq"}
    create_resource(ResourceRequest("web", "vm", spec), actor=ACTOR)
    answer("creation-acknowledged")
    status = {
        "id": "web",
        "status": "RUNNING",
        "message": "Up.",
        "output_spec": {"api_key": secret, "ip": "10.0.0.1"},
    }
    receive_message(Envelope("s1", "p", "dcm.status.vm", status), Sender())

    page = text_of(browser.get("/resources/web"))

    assert secret not in page
    assert page.count("Message sent</summary>") == 1
    assert "value: &#x27;********&#x27;" in page
    assert "amqp://bob:********@mq" in page
    assert "ip: 10.0.0.1" in page
    assert "stands for a secret" in page
    assert ResourceRow.objects.get().spec == spec


def test_the_headline_has_the_newest_reason(browser):
    row = make()
    assert "It is the only agent" in row.reason
    fail()

    text = text_of(browser.get("/resources/web"))
    assert "at a1: NO_QUOTA: No quota left.</p>" in text


@pytest.mark.parametrize(
    ("prepare", "buttons"),
    [
        (lambda: None, {"cancel", "delete", "force-deletion"}),
        (fail, {"retry", "delete", "force-deletion"}),
        (lambda: answer("creation-acknowledged"), {"cancel", "delete", "force-deletion"}),
    ],
)
def test_the_buttons_are_those_that_the_state_allows(browser, prepare, buttons):
    make()
    prepare()

    text = text_of(browser.get("/resources/web"))
    assert set(re.findall(r'class="button[^"]*" href="/resources/web/([^"]+)"', text)) == buttons


def test_a_resource_without_an_agent_can_be_tried_again(browser):
    make("db", "db")

    assert "/resources/db/retry" in text_of(browser.get("/resources/db"))
    assert browser.post("/resources/db/retry", {"reason": ""}).status_code == 302


@pytest.mark.parametrize(
    ("route", "state", "form"),
    [
        ("cancel", "cancelling", {"reason": "Too large."}),
        ("delete", "deleting", {"reason": "Not needed."}),
        ("force-deletion", "deleted", {"reason": "It is gone.", "force": "on"}),
    ],
)
def test_a_change_is_confirmed_and_recorded_with_its_reason(browser, route, state, form):
    make()
    assert "Effects" in text_of(browser.get(f"/resources/web/{route}"))
    assert ResourceRow.objects.get().state == "pending"

    assert browser.post(f"/resources/web/{route}", form)["Location"] == "/resources/web"
    assert ResourceRow.objects.get().state == state
    assert AuditRecord.objects.order_by("-id")[0].reason == form["reason"]


def test_what_cannot_be_cancelled_stays_with_a_reason(browser):
    make()
    fail()
    answer = browser.post("/resources/web/cancel", {"reason": ""})

    assert answer.status_code == 409
    assert "cannot be cancelled" in text_of(answer)


def test_only_operators_force_a_deletion(browser):
    make()
    editor = logged_in("ed", Role.EDITOR)

    assert "/resources/web/force-deletion" not in text_of(editor.get("/resources/web"))
    assert "/resources/web/delete" in text_of(editor.get("/resources/web"))
    assert editor.post("/resources/web/force-deletion", {"force": "on"}).status_code == 403
    viewer = logged_in("vi", Role.VIEWER)
    assert 'class="button danger"' not in text_of(viewer.get("/resources/web"))
    assert viewer.get("/resources/web/delete").status_code == 403
    assert viewer.get("/resources:new").status_code == 403


def test_the_explanation_has_a_verdict_for_each_agent(browser):
    make()
    text = text_of(browser.get("/resources/web/placement"))

    assert "To a1: It is the only agent that can take it." in text
    assert "It is draining" in text
    assert re.findall(r'<th scope="row"[^>]*><a [^>]*>([^<]+)', text) == ["a1", "a2"]


FORM = {"service_type": "vm", "id": "new", "spec": "image: nginx\ncpu: 2", "labels": "app=web, tier=gold"}


def test_a_request_is_previewed_and_then_sent(browser):
    make_project("flytesnacks")
    form = {**FORM, "project": "flytesnacks", "environment": "prod"}

    preview = text_of(browser.post("/resources:new", {**form, "preview": "1"}))
    assert "nothing is sent yet" in preview
    assert "It is the only agent that can take it." in preview
    assert "resources?id=new" in preview
    assert not ResourceRow.objects.exists()

    sent = browser.post("/resources:new", {**form, "send": "1", "reason": "For the shop."})
    assert sent["Location"] == "/resources/new"
    row = ResourceRow.objects.get()
    assert (row.spec, row.labels) == ({"image": "nginx", "cpu": 2}, {"app": "web", "tier": "gold"})
    assert (row.project, row.constraints, row.agent_name) == ("flytesnacks", {"environment": "prod"}, "a1")
    assert AuditRecord.objects.filter(reason="For the shop.").count() == 1


@pytest.mark.parametrize(
    ("fields", "status", "text"),
    [
        ({"spec": "a: [1"}, 400, "neither YAML nor JSON"),
        ({"spec": "[1]"}, 400, "This must be an object."),
        ({"labels": "app"}, 400, "is not a label"),
        ({"id": "UPPER"}, 400, "An id must have"),
        ({"project": "nowhere"}, 404, "nowhere"),
        ({"selector": "a b c"}, 400, "is not a valid selector"),
        ({"team": "nobody"}, 404, "nobody"),
        ({"service_type": ""}, 400, "/service_type"),
    ],
)
def test_a_wrong_form_keeps_its_input_and_names_the_error(browser, fields, status, text):
    answer = browser.post("/resources:new", {**FORM, **fields, "send": "1"})

    assert answer.status_code == status, text_of(answer)
    assert text in text_of(answer)
    assert "app" in text_of(answer)
    assert not ResourceRow.objects.exists()


def test_an_id_in_use_is_named(browser):
    make()
    answer = browser.post("/resources:new", {**FORM, "id": "web", "send": "1"})

    assert answer.status_code == 409
    assert "is in use" in text_of(answer)


def test_another_teams_resource_does_not_exist(browser):
    ours, other = (create_team(name, actor=ACTOR) for name in ("zqours", "zqother"))
    make("zqother-web", team_id=other.id)
    make("zqours-web", team_id=ours.id)
    member = browser_of(ours, Role.EDITOR)

    listed = text_of(member.get("/resources"))
    assert "zqours-web" in listed
    assert "zqother-web" not in listed
    for page in ("", "/placement", "/delete"):
        assert member.get(f"/resources/zqother-web{page}").status_code == 404
    assert member.get("/search?q=zqother-w").content.count(b"/resources/zqother-web") == 0
    assert member.get("/resources/zqours-web/placement").status_code == 200


@pytest.fixture
def letter(browser: Client) -> DeadLetter:
    with transaction.atomic():
        stored = store(
            Undelivered(
                "dcm-agent-responses",
                "control-plane-response-consumer",
                7,
                "dcm.agents.responses",
                b'{"<b>": 1}',
                "The message is no CloudEvent.",
                {"Nats-Time-Stamp": "2026-11-21T09:30:00+00:00"},
                1,
            )
        )
    assert stored is not None
    return stored


def test_a_dead_letter_is_shown_with_its_payload_and_discarded(browser, letter):
    listed = text_of(browser.get("/dead-letters"))
    assert "The message is no CloudEvent." in listed
    page = text_of(browser.get(f"/dead-letters/{letter.id}"))
    assert "{&quot;&lt;b&gt;&quot;: 1}" in page

    answer = browser.post(f"/dead-letters/{letter.id}/discard", {"reason": "Old."})
    assert answer["Location"] == f"/dead-letters/{letter.id}"
    assert "The message is no CloudEvent." not in text_of(browser.get("/dead-letters"))
    assert "discarded" in text_of(browser.get("/dead-letters?state="))
    assert "Discard message" not in text_of(browser.get(f"/dead-letters/{letter.id}"))


def test_a_dead_letter_that_cannot_be_replayed_says_why(browser, letter):
    answer = browser.post(f"/dead-letters/{letter.id}/replay", {"reason": ""})

    assert answer.status_code == 409
    assert "cannot be handled" in text_of(answer)


def test_only_operators_settle_dead_letters(letter):
    viewer = logged_in("vi", Role.VIEWER)

    assert "Replay message" not in text_of(viewer.get(f"/dead-letters/{letter.id}"))
    assert viewer.post(f"/dead-letters/{letter.id}/discard", {"reason": ""}).status_code == 403
    assert DeadLetter.objects.get().state == "open"


def test_pages_cost_the_same_for_few_and_for_many(browser, django_assert_max_num_queries):
    for number in range(20):
        make(f"r{number}")
    with django_assert_max_num_queries(10):
        browser.get("/resources")
    with django_assert_max_num_queries(15):
        browser.get("/resources/r1")


def test_an_agents_page_lists_the_resources_at_it(browser):
    make()
    make("web-2")
    make("gone")
    ResourceRow.objects.filter(id="gone").update(state="deleted")
    agent = Agent.objects.get(name="a1")

    page = text_of(browser.get(f"/agents/{agent.id}"))

    assert 'href="/resources/web"' in page
    assert 'href="/resources/web-2"' in page
    assert 'href="/resources/gone"' not in page
    assert 'href="/resources?agent=a1"' in page
    empty = text_of(browser.get(f"/agents/{Agent.objects.get(name='a2').id}"))
    assert "No resource that you can read is assigned" in empty
