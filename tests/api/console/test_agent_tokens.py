"""Pages that rotate and revoke the tokens of an agent, and the API behind them."""

import html
import re

import pytest

from controlplane.access.models import AuditRecord, Token
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from registry.agents.models import Agent
from registry.dispatch.nats_logins.models import NatsLogin
from registry.joining.models import SubjectAgent
from tests.api.registry.test_joining import beat, joined
from tests.support.api_client import AGENT, Api, logged_in, token_for

UNKNOWN = "019a9f5e-7c00-7000-8000-000000000031"


@pytest.fixture
def browser(api):
    return logged_in("jane", Role.ADMIN)


@pytest.fixture
def body(api):
    return joined(api)


@pytest.fixture
def agent(body):
    return Agent.objects.select_related("lease").get(id=body["agent"]["agent_id"])


def text_of(answer):
    return html.unescape(answer.content.decode())


def test_the_page_of_an_agent_leads_to_its_tokens_for_those_who_may_change_them(browser, agent):
    page = text_of(browser.get(f"/agents/{agent.id}"))
    viewers = text_of(logged_in("vera", Role.VIEWER).get(f"/agents/{agent.id}"))

    for route in ("rotate-token", "revoke-tokens"):
        assert f'href="/agents/{agent.id}/{route}"' in page
        assert f"/agents/{agent.id}/{route}" not in viewers


def test_the_preview_names_tokens_holder_and_what_stops(browser, body, agent):
    assert beat(body["token"], agent.id).status_code == 200
    NatsLogin.objects.create(agent=agent, digest=b"x" * 32, hint="cp_nat_")
    hint = Token.objects.get(principal_id=agent.registered_by).hint

    for route in ("rotate-token", "revoke-tokens"):
        page = text_of(browser.get(f"/agents/{agent.id}/{route}"))
        assert re.search(rf"Tokens that stop working at once: {hint}…, last used \d+ s ago\.", page)
        assert "a running process holds a token" in page
        assert "its heartbeats are refused: it becomes unavailable when its lease ends" in page
        assert "Its login at NATS stays" in page
    assert f"In {agent.environment}, 0 other agents take work." in page
    assert beat(body["token"], agent.id).status_code == 200


def test_a_rotated_token_is_shown_once_and_the_former_one_fails(browser, body, agent):
    answer = browser.post(f"/agents/{agent.id}/rotate-token", {"reason": "It leaked."})

    (secret,) = set(re.findall(r"cp_agt_\w{49}", text_of(answer)))
    assert answer.headers["Cache-Control"] == "no-store"
    assert beat(body["token"], agent.id).status_code == 401
    assert beat(secret, agent.id).status_code == 200
    record = AuditRecord.objects.get(action="agent.rotated")
    assert (record.actor, record.reason) == ("jane", "It leaked.")
    assert secret not in text_of(browser.get(f"/agents/{agent.id}"))


def test_tokens_are_revoked_once_the_name_is_typed_and_rotation_lets_the_agent_return(browser, body, agent):
    mistyped = browser.post(f"/agents/{agent.id}/revoke-tokens", {"name": "b", "reason": ""})
    assert mistyped.status_code == 400
    assert f"enter {agent.name} exactly" in text_of(mistyped)
    assert beat(body["token"], agent.id).status_code == 200

    done = browser.post(f"/agents/{agent.id}/revoke-tokens", {"name": agent.name, "reason": "It leaked."})

    assert done["Location"] == f"/agents/{agent.id}"
    assert beat(body["token"], agent.id).status_code == 401
    record = AuditRecord.objects.get(action="agent.tokens_revoked")
    assert (record.actor, record.reason, record.object_id) == ("jane", "It leaked.", str(agent.id))
    assert Event.objects.filter(type="agent.tokens_revoked", object_id=str(agent.id)).count() == 1
    assert "The agent has no valid token." in text_of(browser.get(f"/agents/{agent.id}/rotate-token"))
    rotated = text_of(browser.post(f"/agents/{agent.id}/rotate-token", {"reason": ""}))
    assert beat(re.search(r"cp_agt_\w{49}", rotated)[0], agent.id).status_code == 200


def test_the_api_answers_which_tokens_and_a_dry_run_revokes_none(api, body, agent):
    path = f"agents/{agent.id}:revoke-tokens"

    preview = api.post(f"{path}?dry_run=true").json()
    assert beat(body["token"], agent.id).status_code == 200
    done = api.post(path).json()
    again = api.post(path).json()

    assert [token["hint"] for token in preview["tokens"]] == [body["token"][:11]]
    assert done["tokens"][0]["id"] == preview["tokens"][0]["id"]
    assert again["tokens"] == []
    assert beat(body["token"], agent.id).status_code == 401
    assert AuditRecord.objects.filter(action="agent.tokens_revoked").count() == 1
    assert Api(token_for("viewer")).post(path).status_code == 403


def test_an_agent_that_renews_by_its_issuer_returns_by_itself(browser, agent):
    SubjectAgent.objects.create(digest=b"s" * 32, principal_id=agent.registered_by)

    page = text_of(browser.get(f"/agents/{agent.id}/revoke-tokens"))
    refused = browser.post(f"/agents/{agent.id}/rotate-token", {"reason": ""})

    assert "it returns by itself" in page
    assert refused.status_code == 409


def test_a_shared_token_is_explained_and_never_revoked_for_one_agent(api, browser):
    shared = token_for("agent")
    for name in ("b", "c"):
        Api(shared).post("agents", {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"})
    agent = Agent.objects.get(name="b")

    for route in ("rotate-token", "revoke-tokens"):
        page = text_of(browser.post(f"/agents/{agent.id}/{route}", {"name": "b", "reason": ""}))
        assert "b has no token of its own" in page
        assert "1 registered with it" in page
    assert api.post(f"agents/{agent.id}:revoke-tokens").status_code == 409
    assert beat(shared, agent.id).status_code == 200


def test_who_may_not_write_agents_changes_no_token(browser, body, agent):
    viewer = logged_in("vera", Role.VIEWER)

    for route in ("rotate-token", "revoke-tokens"):
        assert viewer.get(f"/agents/{agent.id}/{route}").status_code == 403
        assert viewer.post(f"/agents/{agent.id}/{route}", {"name": agent.name}).status_code == 403
        assert browser.get(f"/agents/{UNKNOWN}/{route}").status_code == 404
    assert beat(body["token"], agent.id).status_code == 200
