"""Followers that come back after their events were archived and dropped."""

from __future__ import annotations

import pytest

from controlplane.events.models import Compaction
from tests.support.api_client import Api, make_project


@pytest.fixture
def dropped(api: Api) -> int:
    """The number up to which events were dropped; one more is kept."""
    for name in ("one", "two"):
        make_project(name)
    last = api.get("/api/v1/events").json()["next_after"]
    Compaction.objects.update(dropped_seq=last - 1)
    return last - 1


@pytest.mark.parametrize("accept", ["application/json", "text/event-stream"])
@pytest.mark.parametrize("query", ["after=0", "after={before}", "after={before}&wait=1"])
def test_a_follower_that_would_miss_events_gets_410_with_the_oldest_number(api, dropped, accept, query):
    answer = api.get(f"/api/v1/events?{query.format(before=dropped - 1)}", Accept=accept)

    assert (answer.status_code, answer.json()["code"]) == (410, "events_gone")
    assert answer.json()["oldest_seq"] == dropped + 1


def test_so_does_a_stream_that_is_resumed(api, dropped):
    headers = {"Accept": "text/event-stream", "Last_Event_ID": str(dropped - 1)}

    assert api.get("/api/v1/events", **headers).status_code == 410


@pytest.mark.parametrize("query", ["after={dropped}", "order=asc", "since=1h&after=0", "limit=1"])
def test_whoever_misses_nothing_gets_the_events(api, dropped, query):
    answer = api.get(f"/api/v1/events?{query.format(dropped=dropped)}")

    assert answer.status_code == 200
    assert answer.json()["items"]
