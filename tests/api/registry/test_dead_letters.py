"""Dead letters over HTTP: who sees them, and what replaying does."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID, uuid4

import pytest

from controlplane.access import principals
from controlplane.access.models import AuditRecord
from controlplane.access.role_bindings import BindingTerms, bind_role
from controlplane.access.teams.teams import get_team
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.messaging.models import DeadLetter, InboxEntry, OutboxMessage
from controlplane.scopes import Scope
from registry.dispatch.models import ResourceRow
from tests.support.agents_over_nats import answer_of, make_agent
from tests.support.api_client import ACTOR, Api, make_principal, token_for

RESPONSES, REQUESTS = "dcm-agent-responses", "dcm-agent-requests"


@pytest.fixture
def operator(db: None) -> Api:
    return Api(token_for("operator"))


def make_letter(payload: bytes = b"{", *, stream: str = RESPONSES, team_id: UUID | None = None) -> str:
    subject = "dcm.agents.responses" if stream == RESPONSES else "dcm.agent.alpha"
    letter = DeadLetter.objects.create(
        stream=stream,
        consumer="c",
        sequence=DeadLetter.objects.count() + 1,
        subject=subject,
        headers={"Nats-Time-Stamp": "2026-11-21T09:30:00+00:00"},
        payload=payload,
        reason="It is no CloudEvent.",
        team_id=team_id,
    )
    return str(letter.id)


def request(api: Api, resource_id: str = "web") -> None:
    made = api.post(f"resources?id={resource_id}", {"service_type": "container", "spec": {}})
    assert made.status_code == 202, made.content


def test_a_letter_is_listed_and_read_with_its_payload(operator):
    text, binary = make_letter(b"{"), make_letter(b"\xff")

    listed = operator.get("dead-letters?state=open").json()["items"]
    assert [letter["id"] for letter in listed] == [binary, text]
    assert "payload" not in listed[0]
    read = operator.get(f"dead-letters/{text}").json()
    assert (read["payload"], read["payload_encoding"], read["state"]) == ("{", "text", "open")
    read = operator.get(f"dead-letters/{binary}").json()
    assert (read["payload"], read["payload_encoding"]) == ("/w==", "base64")


def test_a_replayed_answer_is_handled_once(api, operator):
    agent = make_agent("alpha")
    letter = make_letter(answer_of(agent, "creation-acknowledged", "web"))

    early = operator.post(f"dead-letters/{letter}:replay")
    assert (early.status_code, early.json()["code"]) == (409, "conflict")
    assert "There is no resource 'web'." in early.json()["detail"]
    assert not InboxEntry.objects.exists()

    request(api)
    answer = operator.post(f"dead-letters/{letter}:replay?change_message=created")
    assert (answer.status_code, answer.json()["state"]) == (200, "replayed")
    assert ResourceRow.objects.get().state == "provisioning"
    assert AuditRecord.objects.get(action="dead_letter.replayed").reason == "created"
    assert Event.objects.filter(type="dead_letter.replayed", object_id=letter).exists()
    assert operator.post(f"dead-letters/{letter}:replay").status_code == 409


def test_an_answer_that_was_handled_before_is_not_replayed(api, operator):
    agent = make_agent("alpha")
    request(api)
    body = answer_of(agent, "creation-acknowledged", "web")
    assert operator.post(f"dead-letters/{make_letter(body)}:replay").status_code == 200

    again = operator.post(f"dead-letters/{make_letter(body)}:replay")
    assert (again.status_code, again.json()["detail"]) == (
        409,
        "The message was handled before, or a later one replaces it. Discard it.",
    )


def test_a_replayed_request_is_sent_again_with_the_same_event_id_and_another_message_id(api, operator):
    make_agent("alpha")
    request(api)
    sent = OutboxMessage.objects.get()
    letter = make_letter(request_body(sent), stream=REQUESTS)

    assert operator.post(f"dead-letters/{letter}:replay").status_code == 200
    again = OutboxMessage.objects.exclude(id=sent.id).get()
    assert (again.event_id, again.data, again.destination) == ("web", sent.data, sent.destination)


def test_a_request_that_its_agent_no_longer_has_is_not_replayed(api, operator):
    make_agent("alpha")
    request(api)
    letter = make_letter(request_body(OutboxMessage.objects.get()), stream=REQUESTS)
    assert api.delete("resources/web").status_code == 202

    refused = operator.post(f"dead-letters/{letter}:replay")
    assert (refused.status_code, "would create the resource twice" in refused.json()["detail"]) == (409, True)
    assert operator.post(f"dead-letters/{make_letter(stream=REQUESTS)}:replay").status_code == 409


def request_body(sent: OutboxMessage) -> bytes:
    event: dict[str, Any] = {"specversion": "1.0", "id": sent.event_id, "type": sent.event_type}
    return json.dumps({**event, "source": sent.source, "data": sent.data}).encode()


def test_a_dry_run_replays_nothing(api, operator):
    agent = make_agent("alpha")
    request(api)
    letter = make_letter(answer_of(agent, "creation-acknowledged", "web"))

    answer = operator.post(f"dead-letters/{letter}:replay?dry_run=true")
    assert (answer.status_code, answer.json()["state"]) == (200, "replayed")
    assert (ResourceRow.objects.get().state, DeadLetter.objects.get().state) == ("pending", "open")


def test_a_discarded_letter_stays_readable(operator):
    letter = make_letter()

    answer = operator.post(f"dead-letters/{letter}:discard")
    assert (answer.status_code, answer.json()["state"]) == (200, "discarded")
    assert answer.json()["settled_at"]
    assert operator.get("dead-letters?state=open").json()["items"] == []
    assert operator.get("dead-letters?state=discarded").json()["items"][0]["id"] == letter


def test_letters_are_visible_to_readers_of_their_team_alone(api):
    for slug in ("ours", "theirs"):
        assert api.post("teams", {"slug": slug, "title": slug}).status_code == 201
    ours, theirs = get_team("ours"), get_team("theirs")
    letters = {
        "ours": make_letter(team_id=ours.id),
        "theirs": make_letter(team_id=theirs.id),
        "platform": make_letter(),
    }
    member, reader = limited(Role.OPERATOR, "ours"), limited(Role.VIEWER, "ours")
    project = Api(token_for("viewer", scope=Scope(project="p")))

    assert [item["team"] for item in member.get("dead-letters").json()["items"]] == ["ours"]
    for name in ("theirs", "platform"):
        unknown = member.get(f"dead-letters/{letters[name]}")
        assert (unknown.status_code, unknown.json()["code"]) == (404, "unknown_dead_letter")
        assert member.post(f"dead-letters/{letters[name]}:discard").status_code == 404
    assert project.get("dead-letters").json()["items"] == []
    assert reader.post(f"dead-letters/{letters['ours']}:discard").status_code == 403
    assert member.post(f"dead-letters/{letters['ours']}:discard").status_code == 200
    assert len(api.get("dead-letters").json()["items"]) == 3
    assert api.get(f"dead-letters/{uuid4()}").status_code == 404


def limited(role: Role, slug: str) -> Api:
    principal = make_principal(name=f"{role}-of-{slug}")
    bind_role(principal, role, Scope(), actor=ACTOR, terms=BindingTerms(owned_by=get_team(slug)))
    _, secret = principals.create_token(principal, name="t", expires_at=None, actor=ACTOR)
    return Api(secret)
