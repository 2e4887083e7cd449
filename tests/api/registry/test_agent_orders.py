"""Orders of the list of agents: whole, each agent once, also by what heartbeats write."""

from __future__ import annotations

from datetime import timedelta
from operator import attrgetter
from typing import Any

import pytest
from django.db.models.functions import Now
from django.utils import timezone
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from controlplane.api.pages import PageRequest, load_page
from controlplane.identity.callers import ANONYMOUS_READER
from controlplane.identity.roles import Role
from registry.agents.models import Agent, Lease
from registry.listing.search import SORT_KEYS, search_agents
from tests.support.api_client import AGENT, Api, logged_in, token_for
from tests.support.properties import examples

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


@pytest.mark.parametrize("key", SORT_KEYS.columns)
@pytest.mark.parametrize("sign", ["", "-"])
@pytest.mark.parametrize("limit", [1, 2, 4])
def test_pages_have_each_agent_once(api: Api, key: str, sign: str, limit: int) -> None:
    sort = f"{sign}{key}"
    assert listed(api, sort, limit=limit) == listed(api, sort)
    assert sorted(listed(api, sort)) == [name for name, *_ in FLEET]


def test_an_order_that_does_not_exist_is_refused_with_those_that_do(api: Api) -> None:
    refused = api.get("agents?sort=-consumer_lags")

    assert refused.status_code == 400
    (error,) = refused.json()["errors"]
    assert error["pointer"] == "?sort"
    assert error["hint"] == "Did you mean '-consumer_lag'?"
    assert error["allowed"] == [*SORT_KEYS.columns]


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


@pytest.fixture
def mixed_fleet(api: Api) -> None:
    """Agents of which many have equal values, so that later keys decide."""
    for number in range(6):
        api.post("agents", {**AGENT, "name": f"b{number}", "topic_name": f"dcm.agent.b{number}"})
    now = timezone.now()
    for number, agent in enumerate(Agent.objects.order_by("name")):
        earlier = now - timedelta(seconds=number % 3)
        Agent.objects.filter(pk=agent.pk).update(
            environment="pq"[number % 2],
            state=("ready", "unavailable")[number % 4 == 0],
            state_since=earlier,
            created_at=earlier,
        )
        Lease.objects.filter(pk=agent.pk).update(
            renewed_at=earlier, consumer_lag=number % 3, reported_at=earlier + timedelta(seconds=number % 2)
        )


KEYS = st.tuples(st.sampled_from(["", "-"]), st.sampled_from([*SORT_KEYS.columns])).map("".join)


@given(st.lists(KEYS, min_size=1, max_size=4), st.integers(2, 6))
@settings(examples(12, nightly=300), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_pages_of_several_keys_are_the_sorted_list(mixed_fleet: Any, keys: list[str], limit: int) -> None:
    order = SORT_KEYS.order(",".join(keys))
    rows = search_agents({"sort": order}, ANONYMOUS_READER)
    expected = list(rows)
    for column in reversed(order):
        expected.sort(key=attrgetter(column.removeprefix("-")), reverse=column.startswith("-"))

    paged, cursor = [], ""
    while len(paged) <= len(expected):
        page = load_page(PageRequest("/agents", {}, None, cursor, limit), rows, order=order)
        paged += page.items
        if not (cursor := page.next_cursor or ""):
            break

    assert [agent.name for agent in paged] == [agent.name for agent in expected]


def test_a_second_key_orders_what_the_first_leaves_equal(api: Api) -> None:
    assert listed(api, "consumer_lag,-name", limit=2) == ["a4", "a2", "a3", "a1", "a5"]
    assert listed(api, "-consumer_lag,name", limit=2) == ["a5", "a1", "a3", "a2", "a4"]
    assert listed(api, "name,-consumer_lag") == listed(api, "name")
    refused = api.get("agents?sort=environment,-last_seen_at")
    assert refused.json()["errors"][0]["hint"] == "Did you mean '-last_heartbeat'?"
