"""The dashboard: the state in a sentence, the timeline, affected places, and changes with their authors."""

from __future__ import annotations

import re
from datetime import timedelta

import pytest
from django.db import transaction
from django.db.models.functions import Now

from controlplane.demo.seed import seed
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.agents.models import Agent, SweepRecord
from registry.agents.states import State
from registry.agents.transitions import move
from tests.support.api_client import Api, logged_in, make_project, token_for

pytestmark = pytest.mark.django_db


@pytest.fixture
def browser(db):
    seed()
    SweepRecord.objects.update_or_create(id=1, defaults={"last_sweep_at": Now()})
    return logged_in("jane", Role.ADMIN)


def page_of(browser, query: str = "", **headers: str) -> str:
    answer = browser.get(f"/{query}", headers=headers)
    assert answer.status_code == 200
    return re.sub(r"\s+", " ", answer.content.decode())


def silence(*names: str) -> None:
    for agent in Agent.objects.filter(name__in=names):
        with transaction.atomic():
            move(agent, State.UNAVAILABLE, reason="No heartbeat for 95 s.", actor="sweep")


def test_recently_silent_agents_are_the_headline_with_place_and_reason(browser):
    Agent.objects.update(state="ready", state_since=Now() - timedelta(days=2))
    silence("prod-eu-1")

    home = page_of(browser)

    assert re.search(r"<strong>1 of \d+ agents silent</strong> since <time", home)
    assert 'href="/agents?state=silent&amp;since=1h&amp;sort=-state_since">Show silent agents</a>' in home
    assert "No heartbeat for 95 s." in home
    assert "Agents silent: 1, most at" in home


def test_agents_silent_for_long_are_no_news(browser):
    Agent.objects.update(state="ready", state_since=Now() - timedelta(days=2))
    Agent.objects.filter(name="prod-eu-1").update(state="unavailable")

    home = page_of(browser)

    assert "No new problems found" in home
    assert "1 agent has been silent for longer than the last hour" in home
    assert 'class="incident ok"' in home


def test_the_time_range_decides_what_is_recent(browser):
    Agent.objects.update(state="ready", state_since=Now() - timedelta(days=2))
    Agent.objects.filter(name="prod-eu-1").update(
        state="unavailable", state_since=Now() - timedelta(minutes=30)
    )

    assert "agents silent</strong>" in page_of(browser)
    assert "agents silent</strong>" not in page_of(browser, "?since=15m")
    assert "Last day" in page_of(browser, "?since=24h")
    assert "Last hour" in page_of(browser, "?since=bogus")


def test_states_that_nothing_updates_are_never_shown_as_current(browser):
    SweepRecord.objects.update(last_sweep_at=Now() - timedelta(minutes=10))

    home = page_of(browser)

    assert "<strong>Agent states are not updated</strong> since" in home
    assert "Agent states are up to date" not in home
    assert 'href="/status">Show status</a>' in home


def test_changes_name_their_author_and_lead_to_the_record(browser):
    api = Api(token_for(Role.ADMIN))
    put = api.put(
        "overrides/task_resource?project=recommender&domain=staging",
        {"attributes": {"defaults": {"cpu": "1"}}},
        If_None_Match="*",
    )
    assert put.status_code == 201, put.content
    assert api.post("scopes/projects", {"id": "ads", "name": "Ads"}).status_code == 201

    home = page_of(browser)

    assert re.search("by admin-[0-9]+, <time", home)
    label = 'aria-label="details: what admin-[0-9]+ changed: Project ads created"'
    found = re.search(rf'href="(/audit\?request_id=[^"]+)" {label}', home)
    assert found
    assert "ads" in browser.get(found[1]).content.decode()


def test_nobody_numbers_events_for_the_dashboard(browser):
    silence("prod-eu-1")
    waiting = Event.objects.filter(seq=None).count()

    assert "Agents silent: 1" in page_of(browser)

    assert waiting > 0
    assert Event.objects.filter(seq=None).count() == waiting


def test_a_part_of_the_page_comes_without_its_frame(browser):
    part = page_of(browser, HX_Request="true")

    assert part.lstrip().startswith('<div id="now"')
    assert "<nav" not in part


def test_a_reader_of_a_project_sees_no_agents_and_only_its_changes(browser):
    admin = Api(token_for(Role.ADMIN))
    admin.post("scopes/projects", {"id": "ads", "name": "Ads"})
    silence("prod-eu-1")

    home = page_of(logged_in("vera", Role.VIEWER, scope=Scope(project="flytesnacks")))

    assert "prod-eu-1" not in home
    assert "Agents silent: 0" in home
    assert "ads" not in home
    assert "Not checked, because your roles do not allow it: the fleet." in home


def test_an_empty_installation_says_the_first_steps(db):
    jane = logged_in("jane", Role.ADMIN)
    home = page_of(jane)

    assert "First steps" in home
    assert home.count("data-copy=") == 3
    assert "First steps" not in page_of(logged_in("vera", Role.VIEWER))
    make_project("ads")
    assert page_of(jane).count("data-copy=") == 2
    seed()
    assert "First steps" not in page_of(jane)


def test_queries_do_not_grow_with_silent_agents(browser, django_assert_max_num_queries):
    silence(*Agent.objects.values_list("name", flat=True))

    with django_assert_max_num_queries(45):
        page_of(browser)
