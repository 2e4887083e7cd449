"""Time ranges of pages: with one click, by the address, and an error beside the form."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from registry.agents.models import Agent
from tests.support.api_client import AGENT, Api, logged_in, token_for

PAGES = ("/events", "/audit", "/agents")


@pytest.fixture
def browser(db):
    return logged_in("jane", Role.ADMIN)


@pytest.fixture
def past(db) -> None:
    """An event, an audit record and an agent of five hours ago, and of five minutes ago."""
    for name, ago in (("long-ago", timedelta(hours=5)), ("just-now", timedelta(minutes=5))):
        at = datetime.now(UTC) - ago
        facts = {"object_type": "project", "object_id": name, "actor": "ada", "at": at}
        Event.objects.create(type="project.updated", data={"project": "p"}, **facts)
        AuditRecord.objects.create(action="project.updated", request_id="r", **facts)
        body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
        agent = Api(token_for("agent")).post("agents", body).json()["agent_id"]
        Agent.objects.filter(pk=agent).update(state_since=at)


def names(page: str) -> set[str]:
    return {name for name in ("long-ago", "just-now") if f">{name}<" in page}


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", {"long-ago", "just-now"}),
        ("since=1h", {"just-now"}),
        ("until=1h", {"long-ago"}),
        ("since=1h&until=10m", set()),
    ],
)
def test_a_page_shows_its_range(browser, past, path, query, found):
    # The registration of both agents is an event of now.
    page = browser.get(f"{path}?{query}&object_type=project" if path != "/agents" else f"{path}?{query}")

    assert names(page.content.decode()) == found


@pytest.mark.parametrize("path", PAGES)
def test_the_last_hour_is_one_click_away_and_keeps_the_other_filters(browser, past, path):
    page = browser.get(f"{path}?object_type=project&until=10m").content.decode()

    assert 'href="?object_type=project&amp;since=1h"' in page


@pytest.mark.parametrize("path", PAGES)
@pytest.mark.parametrize("bound", ["since", "until"])
def test_a_time_that_cannot_be_read_is_told_beside_the_form(browser, db, path, bound):
    answer = browser.get(f"{path}?{bound}=yesterday")

    page = answer.content.decode()
    assert (answer.status_code, f"<code>?{bound}</code>" in page) == (422, True)
    assert 'value="yesterday"' in page


def test_an_export_has_the_range_of_its_page(browser, past):
    page = browser.get("/audit?since=1h&object_type=project").content.decode()
    assert "since=1h" in page.split("audit/export", 1)[1].split('"', 1)[0]

    exported = browser.get("/audit/export?since=1h&object_type=project").content.decode()
    assert "just-now" in exported
    assert "long-ago" not in exported
