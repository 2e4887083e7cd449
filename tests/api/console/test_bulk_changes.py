"""Bulk changes of agents in the console: what would change, the confirmation, progress, cancel and undo."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client

from console.fleet.bulk_start import selector_of
from controlplane.access.models import AuditRecord, PrincipalKind
from controlplane.identity.roles import Role
from registry.agents.models import Agent
from registry.bulk_changes import execution
from registry.bulk_changes.models import AgentBulkChange
from tests.support.api_client import AGENT, Api, logged_in
from tests.support.two_teams import OURS, browser_of, limited_principal, make_two_teams

pytestmark = pytest.mark.django_db
PROD = "environment=prod"


@pytest.fixture
def browser(api: Api) -> Client:
    return logged_in("jane", Role.ADMIN)


def register(api: Api, count: int, **more: Any) -> None:
    for number in range(count):
        body = {**AGENT, "name": f"a{number:02}", "topic_name": f"dcm.agent.a{number:02}", **more}
        assert api.post("agents", body).status_code == 201


def text_of(answer: Any) -> str:
    return html.unescape(answer.content.decode())


def states() -> set[str]:
    return set(Agent.objects.values_list("state", flat=True))


def test_matching_agents_are_drained_seen_and_undone(api: Api, browser: Client) -> None:
    register(api, 2)
    assert f"/agents:drain?{PROD}" in text_of(browser.get(f"/agents?{PROD}"))

    page = text_of(browser.get(f"/agents:drain?{PROD}"))
    assert "2 agents would change, 0 match and stay as they are." in page
    assert AgentBulkChange.objects.count() == 0
    started = browser.post(f"/agents:drain?{PROD}", {"reason": "Kernel update.", "batch_size": "50"})
    change = AgentBulkChange.objects.get()
    assert started["Location"] == f"/agent-bulk-changes/{change.id}"
    assert (change.selector, change.batch_size) == ({"environment": "prod"}, 50)
    assert 'hx-trigger="every 2s"' in text_of(browser.get(started["Location"]))

    execution.run_bulk_changes()
    assert states() == {"draining"}
    done = text_of(browser.get(started["Location"]))
    assert "2 of 2 agents" in done
    assert ">a01</a>" in done
    assert "every 2s" not in done
    assert f'href="/agent-bulk-changes/{change.id}"' in text_of(browser.get("/agent-bulk-changes"))

    assert "drains that they had before" in text_of(browser.get(f"{started['Location']}:undo"))
    assert browser.post(f"{started['Location']}:undo", {})["Location"] == started["Location"]
    execution.run_bulk_changes()
    assert states() == {"ready"}
    assert "Undone by" in text_of(browser.get(started["Location"]))
    actions = AuditRecord.objects.filter(object_type="agent_bulk_change").values_list("action", flat=True)
    assert {"agent_bulk_change.started", "agent_bulk_change.undoing"} <= set(actions)


def test_ticked_agents_alone_are_drained(api: Api, browser: Client) -> None:
    register(api, 3)
    listed = text_of(browser.get(f"/agents?{PROD}"))
    first, second, third = Agent.objects.order_by("name")
    assert f'form="ticked" name="ticked" value="{first.id}"' in listed

    address = f"/agents:drain?{PROD}&ticked=&ticked={first.id}&ticked={third.id}"
    page = text_of(browser.get(address))
    assert "2 agents would change, 0 match and stay as they are." in page
    assert "Selected: 2 ticked agents." in page
    browser.post(address, {"reason": "Kernel update."})
    execution.run_bulk_changes()
    second.refresh_from_db()
    assert second.state == "ready"
    assert Agent.objects.filter(state="draining").count() == 2


@pytest.mark.parametrize("ticks", ["ticked=", "ticked=no-id"])
def test_without_a_ticked_agent_none_is_selected(api: Api, browser: Client, ticks: str) -> None:
    register(api, 1)
    for answer in (browser.get(f"/agents:drain?{ticks}"), browser.post(f"/agents:drain?{ticks}", {})):
        assert answer.status_code == 400
    assert not AgentBulkChange.objects.exists()
    assert 'type="checkbox" form=' not in text_of(logged_in("joe", Role.VIEWER).get("/agents"))


@pytest.mark.parametrize(("typed", "status"), [("", 409), ("11", 409), ("eleven", 400), ("12", 302)])
def test_many_agents_are_confirmed_by_their_number(
    api: Api, browser: Client, typed: str, status: int
) -> None:
    register(api, 12)
    assert "Type 12 to confirm." in text_of(browser.get("/agents:retire"))

    answer = browser.post("/agents:retire", {"reason": "Old fleet.", "confirm": typed})

    assert answer.status_code == status
    assert AgentBulkChange.objects.count() == (1 if status == 302 else 0)
    if status != 302:
        assert 'value="Old fleet."' in text_of(answer)


def test_the_last_agent_of_a_task_type_is_named_and_kept(api: Api, browser: Client) -> None:
    register(api, 1, task_types=[{"name": "spark"}])
    assert "spark would lose its last ready agent in prod." in text_of(browser.get(f"/agents:drain?{PROD}"))

    refused = browser.post(f"/agents:drain?{PROD}", {"reason": "x"})
    assert refused.status_code == 409
    allowed = browser.post(f"/agents:drain?{PROD}", {"reason": "x", "allow_last_agents": "on"})
    assert allowed.status_code == 302


def test_a_running_change_is_cancelled(api: Api, browser: Client) -> None:
    register(api, 2)
    url = browser.post(f"/agents:drain?{PROD}", {"reason": "x"})["Location"]

    assert browser.post(f"{url}:cancel", {"reason": "Wrong fleet."}).status_code == 302

    assert AgentBulkChange.objects.get().state == "cancelled"
    assert browser.post(f"{url}:cancel", {}).status_code == 409
    assert "Cancel change" not in text_of(browser.get(url))


def test_a_viewer_is_offered_nothing_and_refused(api: Api, browser: Client) -> None:
    register(api, 1)
    url = browser.post(f"/agents:drain?{PROD}", {"reason": "x"})["Location"]
    viewer = logged_in("vera", Role.VIEWER)

    assert "/agents:drain" not in text_of(viewer.get("/agents"))
    assert viewer.get("/agents:drain").status_code == 403
    assert viewer.post("/agents:drain", {"reason": "x"}).status_code == 403
    page = text_of(viewer.get(url))
    assert "Undo change" not in page
    assert "Cancel change" not in page
    assert viewer.post(f"{url}:undo", {}).status_code == 403
    assert AgentBulkChange.objects.get().state == "running"


def test_a_team_selects_and_sees_its_own_agents_alone(api: Api) -> None:
    teams = make_two_teams(api)
    ours, other = browser_of(teams.ours, Role.OPERATOR), Client()
    other.force_login(limited_principal(teams.other, Role.OPERATOR, name="otto", kind=PrincipalKind.PERSON))

    assert "Drain 1 agent?" in text_of(ours.get("/agents:drain?environment=shared"))
    form = {"reason": "x", "allow_last_agents": "on"}
    url = ours.post("/agents:drain?environment=shared", form)["Location"]

    assert f"{OURS}-1" in text_of(ours.get(url))
    assert other.get(url).status_code == 404
    assert other.post(f"{url}:cancel", {}).status_code == 404
    assert (
        "drain"
        not in text_of(other.get("/agent-bulk-changes")).lower().partition("<main")[2].partition("cpctl")[0]
    )


@pytest.mark.parametrize(
    ("address", "status"),
    [
        ("/agents:reboot", 404),
        ("/agents:drain?selector=team+is+ml", 400),
        ("/agents:drain?state=late", 400),
        ("/agents:drain?since=yesterday", 400),
        ("/agents:drain?q=%00", 400),
        ("/agent-bulk-changes/0190d5a7-0000-7000-8000-000000000001", 404),
    ],
)
def test_a_question_without_an_answer_is_an_error_page(browser: Client, address: str, status: int) -> None:
    assert browser.get(address).status_code == status


def test_late_agents_are_not_offered(api: Api, browser: Client) -> None:
    register(api, 1)
    Agent.objects.get().lease.__class__.objects.update(renewed_at="2026-01-01T00:00Z")

    page = text_of(browser.get("/agents?state=late"))
    assert ">a00</a>" in page
    assert not re.search('href="/agents:(drain|retire)', page)


def test_filters_become_a_selector_of_the_api() -> None:
    assert selector_of({"state": "silent", "selector": "team=ml", "q": "", "since": "1h"}) == {
        "state": ["unavailable", "unknown"],
        "label_selector": "team=ml",
        "since": "1h",
    }
    assert selector_of({"state": "ready"}) == {"state": ["ready"]}
    assert selector_of({}) == {}


@pytest.mark.parametrize("query", ["health_status=ready", "label_selector=team=ml", "state=ready"])
def test_filters_are_also_known_by_their_names_in_the_api(api: Api, browser: Client, query: str) -> None:
    register(api, 1)
    api.post("agents", {**AGENT, "name": "ml", "topic_name": "dcm.agent.ml", "labels": {"team": "ml"}})
    Agent.objects.filter(name="a00").update(state="draining")

    page = text_of(browser.get(f"/agents?{query}"))

    assert (">ml</a>" in page, ">a00</a>" in page) == (True, False)
