"""Orders of the list of agents: whole, each agent once, also by what heartbeats write."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.db.models.functions import Now

from controlplane.identity.roles import Role
from registry.agents.models import Agent, Lease
from registry.listing.search import ORDERS
from tests.support.api_client import AGENT, Api, logged_in, token_for

pytestmark = pytest.mark.django_db
# name, seconds since the last heartbeat, lag, seconds that the clock is ahead (None: not reported)
FLEET = [("a1", 30, 7, 2.0), ("a2", 5, 0, None), ("a3", 30, 7, -4.5), ("a4", 60, 0, 0.0), ("a5", 5, 9, 2.0)]


@pytest.fixture
def api() -> Api:
    api = Api(token_for("admin"))
    for name, silence, lag, ahead in FLEET:
        made = api.post("agents", {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"})
        heard = Now() - timedelta(seconds=silence)
        Lease.objects.filter(agent_id=made.json()["agent_id"]).update(
            renewed_at=heard,
            consumer_lag=lag,
            reported_at=None if ahead is None else heard + timedelta(seconds=ahead),
        )
    return api


def listed(api: Api, sort: str, *, limit: int = 50) -> list[str]:
    """Return the names of all pages."""
    names: list[str] = []
    cursor = ""
    while True:
        page = api.get(f"agents?sort={sort}&limit={limit}{cursor}").json()
        names += [item["name"] for item in page["items"]]
        if not page["next_cursor"]:
            return names
        cursor = f"&cursor={page['next_cursor']}"


@pytest.mark.parametrize(
    ("sort", "names"),
    [
        ("last_heartbeat", ["a4", "a1", "a3", "a2", "a5"]),
        ("consumer_lag", ["a2", "a4", "a1", "a3", "a5"]),
        # Without a report, a clock counts as right.
        ("clock_skew_ms", ["a3", "a2", "a4", "a1", "a5"]),
    ],
)
def test_agents_are_sorted_by_what_heartbeats_write(api: Api, sort: str, names: list[str]) -> None:
    # One statement wrote each time: equal ones differ by microseconds.
    Lease.objects.filter(agent__name__in=["a1", "a3"]).update(
        renewed_at=Lease.objects.get(agent__name="a1").renewed_at
    )
    Lease.objects.filter(agent__name__in=["a2", "a5"]).update(
        renewed_at=Lease.objects.get(agent__name="a2").renewed_at
    )

    assert listed(api, sort) == names
    assert listed(api, f"-{sort}") == names[::-1]


@pytest.mark.parametrize("sort", ORDERS)
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_pages_have_each_agent_once(api: Api, sort: str, limit: int) -> None:
    assert listed(api, sort, limit=limit) == listed(api, sort)
    assert sorted(listed(api, sort)) == [name for name, *_ in FLEET]


def test_an_order_that_does_not_exist_is_refused_with_those_that_do(api: Api) -> None:
    refused = api.get("agents?sort=-consumer_lags")

    assert refused.status_code == 400
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "?sort"
    assert error["hint"] == "Did you mean '-consumer_lag'?"
    assert error["allowed"] == [*ORDERS]


def test_a_cursor_belongs_to_its_order(api: Api) -> None:
    cursor = api.get("agents?sort=consumer_lag&limit=2").json()["next_cursor"]

    assert api.get(f"agents?sort=-consumer_lag&limit=2&cursor={cursor}").status_code == 400


def test_heads_of_the_table_sort(api: Api) -> None:
    browser = logged_in("jane", Role.ADMIN)

    def shown(query: str) -> Any:
        text = browser.get(f"/agents?{query}").content.decode()
        return sorted((name for name, *_ in FLEET), key=lambda name: text.index(f">{name}</a>"))

    assert shown("sort=-consumer_lag")[0] == "a5"
    assert shown("sort=last_heartbeat")[0] == "a4"
    assert shown("sort=nonsense") == shown("") == ["a1", "a2", "a3", "a4", "a5"]
    text = browser.get("/agents?sort=-consumer_lag").content.decode()
    assert 'aria-sort="descending"' in text
    assert 'name="sort" value="-consumer_lag"' in text
    assert Agent.objects.count() == len(FLEET)
