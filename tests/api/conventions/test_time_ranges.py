"""Audit records and events by time: the newest first, and only what is newer than a moment."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.access.models import AuditRecord
from controlplane.api.time_range import SinceField
from controlplane.events.models import Event
from registry.agents.models import Agent
from tests.support.api_client import AGENT, Api, make_project, token_for

HOURS = (30, 3, 1)


@pytest.fixture
def old(db: None) -> None:
    """One event and one audit record for each of these many hours ago."""
    for hours in HOURS:
        at = datetime.now(UTC) - timedelta(hours=hours)
        facts = {"object_type": "project", "object_id": f"{hours}h", "actor": "ada", "at": at}
        Event.objects.create(type="project.updated", data={"project": "p"}, **facts)
        AuditRecord.objects.create(action="project.updated", request_id="r", **facts)


def register(name: str) -> str:
    body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
    return Api(token_for("agent")).post("agents", body).json()["agent_id"]


def objects(api: Api, path: str) -> list[str]:
    answer = api.get(path)
    assert answer.status_code == 200, answer.content
    return [item["object_id"] for item in answer.json()["items"]]


@pytest.mark.parametrize("path", ["audit?actor=ada", "events?object_type=project"])
def test_the_newest_comes_first_and_since_leaves_out_what_is_older(api, old, path):
    assert objects(api, path) == ["1h", "3h", "30h"]
    assert objects(api, f"{path}&order=asc") == ["30h", "3h", "1h"]
    assert objects(api, f"{path}&since=2h") == ["1h"]
    assert objects(api, f"{path}&since=1d2h30m") == ["1h", "3h"]
    assert objects(api, f"{path}&since=2d&order=asc") == ["30h", "3h", "1h"]
    yesterday = (datetime.now(UTC) - timedelta(hours=20)).strftime("%Y-%m-%dT%H:%M:%SZ")
    assert objects(api, f"{path}&since={yesterday}") == ["1h", "3h"]
    assert objects(api, f"{path}&since=30m") == []


@pytest.mark.parametrize("path", ["audit?actor=ada", "events?object_type=project"])
def test_until_leaves_out_what_is_newer(api, old, path):
    assert objects(api, f"{path}&until=2h") == ["3h", "30h"]
    assert objects(api, f"{path}&since=1d&until=2h") == ["3h"]
    assert objects(api, f"{path}&since=2h&until=3h") == []


def test_agents_are_found_by_the_time_of_their_last_change(api, db):
    for hours in HOURS:
        agent = register(f"a{hours}")
        Agent.objects.filter(pk=agent).update(state_since=datetime.now(UTC) - timedelta(hours=hours))

    def found(query: str) -> list[str]:
        return [item["name"] for item in api.get(f"agents?sort=-state_since&{query}").json()["items"]]

    assert found("since=2h") == ["a1"]
    assert found("since=1d&until=2h") == ["a3"]
    assert found("until=2h") == ["a3", "a30"]


@pytest.mark.parametrize("query", ["wait=1", "after=0&wait=1"])
def test_what_waits_has_no_end_in_time(api, query):
    answer = api.get(f"events?until=1h&{query}")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "?until")


@pytest.mark.parametrize("path", ["audit", "events", "agents"])
@pytest.mark.parametrize("name", ["since", "until"])
@pytest.mark.parametrize(
    "since", ["yesterday", "2", "-2h", "2h%20ago", "2026-11-21T09:30:00", "9999999d", "99999w"]
)
def test_a_time_that_means_nothing_is_refused_and_named(api, path, name, since):
    answer = api.get(f"{path}?{name}={since}")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, f"?{name}")


def test_events_go_back_page_by_page_and_then_forward(api):
    for number in range(5):
        make_project(f"p{number}")
    newest = api.get("events?type=project.created&limit=2").json()
    assert [item["object_id"] for item in newest["items"]] == ["p4", "p3"]

    older = api.get(f"events?type=project.created&limit=2&before={newest['next_before']}").json()
    assert [item["object_id"] for item in older["items"]] == ["p2", "p1"]
    last = api.get(f"events?type=project.created&limit=2&before={older['next_before']}").json()
    assert ([item["object_id"] for item in last["items"]], last["next_before"]) == (["p0"], None)

    make_project("p5")
    following = api.get(f"events?type=project.created&after={newest['next_after']}").json()
    assert ([item["object_id"] for item in following["items"]], following["next_before"]) == (["p5"], None)


@pytest.mark.parametrize("query", ["after=0&order=desc", "wait=1&before=7", "after=3&before=7"])
def test_following_and_looking_back_at_once_is_refused(api, query):
    answer = api.get(f"events?{query}")

    assert answer.status_code == 400
    assert "Requests that follow the log are in ascending order" in answer.json()["detail"]


def test_audit_pages_keep_their_order(api, old):
    first = api.get("audit?actor=ada&limit=2").json()
    second = api.get(f"audit?actor=ada&limit=2&cursor={first['next_cursor']}").json()

    assert [item["object_id"] for item in [*first["items"], *second["items"]]] == ["1h", "3h", "30h"]


def test_a_stream_since_a_time_begins_in_the_past(old):
    viewer = Api(token_for("viewer"))

    stream = viewer.get("events?since=5h&object_type=project", Accept="text/event-stream").content.decode()

    assert [name in stream for name in ('"30h"', '"3h"', '"1h"')] == [False, True, True]
    assert stream.index('"3h"') < stream.index('"1h"')


def test_durations_add_up():
    read = SinceField().run_validation

    assert read("1w2d3h4m5s") == timedelta(weeks=1, days=2, hours=3, minutes=4, seconds=5)
