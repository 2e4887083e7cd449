"""Pages about agents: look, ask, and change them as the API would."""

import html
import re
import shlex
from datetime import UTC, datetime, timedelta

import pytest
from django.db import connection
from django.db.models.functions import Now
from django.test import Client

from console.fleet import timeline
from console.fleet.impact import Impact, describe_impact, load_impact
from console.fleet.timeline import Move
from controlplane.access.models import AuditRecord
from controlplane.demo.seed import seed
from controlplane.events.models import Event
from controlplane.identity.callers import ANONYMOUS_READER
from controlplane.identity.roles import Role
from registry.agents.models import Agent
from registry.agents.states import State
from registry.agents.transitions import move
from registry.dispatch.models import AgentMessaging
from registry.environments.guarding import environment_id_of
from registry.environments.models import Environment
from registry.providers.models import Provider
from registry.task_types.models import ServedTaskType
from tests.support.api_client import AGENT, Api, logged_in, token_for


@pytest.fixture
def browser(db):
    seed()
    return logged_in("jane", Role.ADMIN)


@pytest.fixture
def agent(browser):
    return Agent.objects.select_related("lease").get(name="prod-eu-1")


def text_of(answer):
    return answer.content.decode()


def register_provider(agent, name):
    return Provider.objects.create(
        agent=agent,
        provider_id=name,
        name=name,
        service_type="vm",
        endpoint="https://kubevirt.example",
        schema_version="v1alpha1",
        kind="external",
        state="ready",
        state_reason="",
        state_since=Now(),
        expires_at=Now(),
    )


@pytest.mark.parametrize(
    ("query", "names"),
    [
        ("q=prod-", {"prod-eu-1", "prod-eu-2", "prod-us-1"}),
        ("service_type=cluster", {"prod-eu-1", "prod-us-1"}),
        ("environment=staging", {"staging-late"}),
        ("selector=team%3Dml", {"prod-us-1"}),
        ("selector=!team&q=us", set()),
    ],
)
def test_the_list_answers_the_question_in_its_address(browser, query, names):
    Agent.objects.filter(name="prod-us-1").update(labels={"team": "ml"})

    text = text_of(browser.get(f"/agents?{query}"))

    assert set(re.findall(r'<th scope="row"[^>]*><input [^>]*><a [^>]*>([^<]+)', text)) == names


def test_a_selector_that_cannot_be_read_is_told_beside_the_form(browser):
    answer = browser.get("/agents?selector=team+is+ml")

    assert answer.status_code == 422
    assert "is not a valid selector" in text_of(answer)
    assert 'value="team is ml"' in text_of(answer)


def test_a_long_list_comes_in_pages_that_keep_the_question(browser):
    agent_row = Agent.objects.get(name="prod-eu-1")
    Agent.objects.bulk_create(
        [Agent(name=f"bulk-{n:03}", environment="bulk", cost="low", topic_name=f"t{n}") for n in range(60)]
    )
    agent_row.lease.__class__.objects.bulk_create(
        [
            agent_row.lease.__class__(
                agent=agent, renewed_at=agent_row.lease.renewed_at, expires_at=agent_row.lease.expires_at
            )
            for agent in Agent.objects.filter(environment="bulk")
        ]
    )

    first = text_of(browser.get("/agents?environment=bulk"))
    after = re.search(r'rel="next" href="([^"]+)"', first)[1].replace("&amp;", "&")
    second = text_of(browser.get(f"/agents{after}"))

    assert "bulk-049" in first
    assert "bulk-050" not in first
    assert "bulk-050" in second
    assert "bulk-059" in second


def test_the_list_costs_the_same_for_few_and_for_many(browser, django_assert_max_num_queries):
    # One of them reads the number of live agents, every five seconds.
    with django_assert_max_num_queries(10):
        browser.get("/agents")


def test_providers_and_task_types_are_columns_to_choose_and_cost_one_query(
    browser, django_assert_max_num_queries
):
    rows = list(Agent.objects.filter(name__startswith="prod-"))
    for row in rows:
        register_provider(row, f"kubevirt-{row.name}")
        Agent.objects.filter(id=row.id).update(task_types=[{"name": "ray", "version": "v1"}])
    address = "/agents?q=prod-&columns=name,providers,task_types"

    with django_assert_max_num_queries(10):
        page = text_of(browser.get(address))

    for row in rows:
        assert f'<span class="label">kubevirt-{row.name}: vm</span>' in page
    assert page.count('href="/task-types/ray"') >= len(rows)
    assert "kubevirt" not in text_of(browser.get("/agents?q=prod-&columns=name,state"))
    assert "none registered" in text_of(browser.get("/agents?q=staging&columns=name,providers"))


def test_an_agents_page_tells_how_it_was_and_why(browser, agent):
    browser.post(f"/agents/{agent.id}/drain", {"reason": "Kernel update.", "until": ""})

    text = text_of(browser.get(f"/agents/{agent.id}"))

    assert "ready → " in text
    assert text.count("Kernel update.") >= 2
    assert "agents show prod-eu-1" in text


def test_what_is_copied_runs_nothing_that_an_agent_has_in_its_name(browser, agent):
    Agent.objects.filter(id=agent.id).update(name="a; rm -rf $HOME", environment="it's")

    page = html.unescape(text_of(browser.get(f"/agents/{agent.id}")))
    listed = html.unescape(text_of(browser.get("/agents?environment=it%27s")))

    assert "cpctl agents show 'a; rm -rf $HOME'" in page
    commands = re.findall(r'data-copy="(cpctl [^\n]*?)" aria-label', listed)
    assert [shlex.split(command) for command in commands] == [
        ["cpctl", "agents", "list", "--environment", "it's"]
    ]


def test_an_agent_that_is_not_there_is_a_page_and_no_error(browser):
    answer = browser.get("/agents/019a9f5e-7c00-7000-8000-000000000031")

    assert answer.status_code == 404
    assert "There is no agent" in text_of(answer)


def test_draining_asks_first_and_says_what_it_means(browser, agent):
    page = text_of(browser.get(f"/agents/{agent.id}/drain"))
    agent.refresh_from_db()

    assert "1 other agent takes work" in page
    assert "Service types that no other agent there provides: cluster." in page
    assert agent.state == State.READY


def test_draining_needs_a_reason_and_keeps_what_was_typed(browser, agent):
    answer = browser.post(f"/agents/{agent.id}/drain", {"reason": "", "until": "2031-01-01T10:00"})

    agent.refresh_from_db()
    assert answer.status_code == 400
    assert 'value="2031-01-01T10:00"' in text_of(answer)
    assert agent.state == State.READY


def test_a_drain_and_its_end_are_in_the_audit_log_with_who_and_why(browser, agent):
    drained = browser.post(
        f"/agents/{agent.id}/drain", {"reason": "Kernel update.", "until": "2031-01-01T10:00"}
    )
    agent.refresh_from_db()
    assert (drained.status_code, agent.state) == (302, State.DRAINING)
    assert agent.drain_until == datetime(2031, 1, 1, 10, tzinfo=UTC)

    browser.post(f"/agents/{agent.id}/resume", {"reason": "Done."})

    agent.refresh_from_db()
    audit_records = AuditRecord.objects.filter(object_id=str(agent.id), actor="jane").order_by("id")
    assert [audit_record.reason for audit_record in audit_records] == ["Kernel update.", "Done."]
    assert agent.state == State.READY


def test_an_agent_that_has_not_left_is_removed_only_on_purpose(browser, agent):
    refused = browser.post(f"/agents/{agent.id}/remove", {"reason": ""})
    assert refused.status_code == 409
    assert "Retire it first" in text_of(refused)

    browser.post(f"/agents/{agent.id}/retire", {"reason": "Old."})
    removed = browser.post(f"/agents/{agent.id}/remove", {"reason": "Old."})

    assert removed["Location"] == "/agents"
    assert not Agent.objects.filter(id=agent.id).exists()


def test_who_waits_for_approval_is_approved(browser, agent):
    Agent.objects.filter(id=agent.id).update(state=State.REGISTERED)

    assert "/approve" in text_of(browser.get(f"/agents/{agent.id}"))
    browser.post(f"/agents/{agent.id}/approve", {"reason": ""})

    agent.refresh_from_db()
    assert agent.state == State.READY


def test_a_viewer_sees_agents_and_changes_none(browser, agent):
    viewer = logged_in("vera", Role.VIEWER)

    response = viewer.get(f"/agents/{agent.id}")
    refused = viewer.post(f"/agents/{agent.id}/drain", {"reason": "x"})

    assert response.status_code == 200
    assert "/drain" not in text_of(response)
    assert refused.status_code == 403
    agent.refresh_from_db()
    assert agent.state == State.READY


def test_a_change_from_another_site_is_refused(browser, agent):
    client = Client(enforce_csrf_checks=True)
    client.cookies = browser.cookies

    answer = client.post(f"/agents/{agent.id}/drain", {"reason": "x"})

    assert answer.status_code == 403
    agent.refresh_from_db()
    assert agent.state == State.READY


@pytest.mark.parametrize("reason", ["a\x00b", "x" * 501])
def test_a_reason_that_cannot_be_kept_is_refused(browser, agent, reason):
    assert browser.post(f"/agents/{agent.id}/retire", {"reason": reason}).status_code == 400


def test_impact_counts_only_those_that_take_work(browser, agent):
    other = Agent.objects.get(name="prod-eu-2")
    ServedTaskType.objects.create(agent=other, name="spark")
    agent.task_types = [{"name": "spark", "version": ""}]
    assert load_impact(agent, ANONYMOUS_READER) == Impact("production-eu", 0, 1, ("cluster",), ())

    move(other, State.UNAVAILABLE, reason="Silent.", actor="tests")

    alone = ("vm", "container", "cluster")
    assert load_impact(agent, ANONYMOUS_READER) == Impact("production-eu", 0, 0, alone, ("spark",))


def test_impact_in_words_says_when_nothing_is_lost():
    assert describe_impact(Impact("prod", 3, 2, (), ())) == (
        "In prod, 2 other agents take work.",
        "Unread messages of this agent: 3.",
        "Other agents serve all of its service types and task types.",
    )


def test_the_strip_covers_the_whole_day_without_a_gap():
    now = datetime(2026, 1, 2, tzinfo=UTC)
    since = now - timedelta(hours=24)
    moves = [
        Move(since - timedelta(hours=1), "registered", "ready"),
        Move(since + timedelta(hours=6), "ready", "unavailable"),
        Move(since + timedelta(hours=12), "unavailable", "ready"),
    ]
    day = {"since": since, "now": now}

    spans = timeline.spans(
        moves, "ready", state_since=moves[2].at, known_from=since - timedelta(days=9), **day
    )

    assert [(span.state, span.x, span.width) for span in spans] == [
        ("ready", 0, 250),
        ("unavailable", 250, 250),
        ("ready", 500, 500),
    ]
    quiet = timeline.spans([], "ready", state_since=moves[0].at, known_from=moves[0].at, **day)
    assert quiet == [timeline.Span("ready", since, now, 0, timeline.WIDTH)]
    assert [(tick.x, tick.hours) for tick in timeline.ticks(**day)][::2] == [(0, 24), (500, 12), (1000, 0)]


def test_the_strip_is_empty_where_nothing_is_known():
    now = datetime(2026, 1, 2, tzinfo=UTC)
    since, born = now - timedelta(hours=24), now - timedelta(hours=6)
    day = {"since": since, "now": now}

    new = timeline.spans([], "ready", state_since=born, known_from=born, **day)
    moves = [Move(now - timedelta(hours=3), "ready", "unavailable")]
    silent = timeline.spans(moves, "unavailable", state_since=moves[0].at, known_from=born, **day)
    # Of somebody who may not read events only the present state is known.
    unread = timeline.spans([], "ready", state_since=born, known_from=since, **day)

    assert [(span.state, span.x, span.width) for span in new] == [("ready", 750, 250)]
    assert [(span.state, span.x, span.width) for span in silent] == [
        ("ready", 750, 125),
        ("unavailable", 875, 125),
    ]
    assert unread == new


def test_a_flap_band_covers_returns_that_follow_each_other():
    now = datetime(2026, 1, 2, tzinfo=UTC)
    since = now - timedelta(hours=24)

    def returns(*hours: float, before: str = "unavailable") -> list[Move]:
        return [Move(since + timedelta(hours=hour), before, "ready") for hour in hours]

    def bands(moves: list[Move]) -> list[tuple[float, float, int]]:
        return [(flap.x, flap.width, flap.returns) for flap in timeline.flaps(moves, since=since, now=now)]

    assert bands(returns(6, 6.5, 7.5, 12)) == [(250, 62.5, 3)]
    assert bands(returns(6, 7.1, 8.2)) == []
    assert bands(returns(6, 6.1)) == []
    assert bands(returns(2.4, 3, 3.6, 18, 18.6, 19.2)) == [(100, 50, 3), (750, 50, 3)]
    # The end of a drain is no return, and older ones are outside the strip.
    assert bands(returns(6, 6.1, 6.2, before="draining")) == []
    assert bands(returns(-1, -0.5, 0.2)) == []


def test_a_flap_band_covers_returns_that_had_to_wait_and_counts_each_once():
    now = datetime(2026, 1, 2, tzinfo=UTC)
    since = now - timedelta(hours=24)
    damped = [since + timedelta(hours=hour) for hour in (6, 6.5)]
    moves = [Move(since + timedelta(hours=hour), "unavailable", "ready") for hour in (5.5, 7)]

    (flap,) = timeline.flaps(moves, since=since, now=now, damped=damped)
    (single,) = timeline.flaps([], since=since, now=now, damped=damped[:1])

    assert (flap.begin, flap.end, flap.returns) == (moves[0].at, damped[1], 3)
    assert single.returns == 1


def test_a_flap_band_is_wide_enough_to_be_seen():
    now = datetime(2026, 1, 2, tzinfo=UTC)
    moves = [Move(now - timedelta(seconds=second), "unavailable", "ready") for second in (30, 20, 10)]

    (flap,) = timeline.flaps(moves, since=now - timedelta(hours=24), now=now)

    assert flap.width >= 5
    assert flap.x + flap.width <= timeline.WIDTH


def test_a_flap_band_has_a_legend_and_the_same_in_words(browser, agent):
    for number in range(3):
        for state in (State.UNAVAILABLE, State.READY):
            move(agent, state, reason=f"Return {number}.", actor="tests")

    page = text_of(browser.get(f"/agents/{agent.id}"))

    assert '<rect class="flap"' in page
    assert 'class="flap-key"' in page
    assert re.search(r'aria-label="States of the last 24 hours[^"]*Flapping [^"]*3 returns', page)
    assert re.search(r"<li>\d\d:\d\d to \d\d:\d\d UTC: 3 returns</li>", page)


def test_flapping_ends_when_its_penalty_has_decayed(browser, agent, settings):
    Agent.objects.filter(id=agent.id).update(flap_penalty=2.0, flapped_at=Now())
    assert "yes (penalty 2.0)" in text_of(browser.get(f"/agents/{agent.id}"))

    long_ago = timedelta(seconds=3 * settings.FLAP_WINDOW_SECONDS)
    Agent.objects.filter(id=agent.id).update(flapped_at=Now() - long_ago)

    assert "<dt>Flapping</dt><dd>no</dd>" in text_of(browser.get(f"/agents/{agent.id}"))


def test_an_agent_that_registered_just_now_has_no_past(browser, agent):
    Agent.objects.filter(id=agent.id).update(created_at=Now() - timedelta(minutes=5), state_since=Now())

    page = text_of(browser.get(f"/agents/{agent.id}"))

    (x, width) = re.search(r'<rect class="fill ready" x="([0-9.]+)" y="0" width="([0-9.]+)"', page).groups()
    assert float(x) >= 995
    assert float(width) <= 5
    assert "No records before" in page


def test_a_mass_event_is_one_banner_with_a_count_and_a_link(browser):
    for number in range(20):
        environment_id_of(f"edge-{number:02}")
        Environment.objects.filter(name=f"edge-{number:02}").update(
            guard_engaged_at=Now(),
            guard_due_count=9,
            guard_agent_count=10,
            guard_reason="9 of 10 agents are silent.",
        )
    count = Environment.objects.exclude(name="").count()

    listed = text_of(browser.get("/agents"))
    assert listed.count("Fleet guard engaged") == 1
    assert f"in 20 of {count} environments: 180 of 200 agents silent" in listed
    assert '<a href="/fleet-guards?engaged=1">' in listed
    home = text_of(browser.get("/"))
    assert home.count('class="incident ') == 1
    assert "<strong>180 of 200 agents silent</strong> since <time" in home
    assert f" in 20 of {count} environments" in home
    assert "Probably the network or this control plane, not the agents." in home
    assert 'href="/fleet-guards?engaged=1">Review fleet guards</a>' in home
    listed = text_of(browser.get("/fleet-guards?engaged=1"))
    assert (listed.count("edge-"), "production" in listed) >= (20, False)

    Environment.objects.filter(name="").update(
        guard_engaged_at=Now(), guard_due_count=500, guard_agent_count=900
    )
    whole = text_of(browser.get("/"))
    assert "<strong>500 of 900 agents silent</strong>" in whole


def test_a_guard_is_overruled_for_a_while_and_given_back(browser):
    environment_id_of("production-eu")
    Environment.objects.filter(name="production-eu").update(guard_due_count=4, guard_agent_count=5)
    address = "/fleet-guards/overrule?environment=production-eu&ruling=engage"

    assert "4 of 5 agents silent" in text_of(browser.get(address))
    browser.post(address, {"ruling": "engage", "seconds": "600", "reason": "Network work."})
    engaged = Environment.objects.get(name="production-eu")
    wrong = browser.post(address, {"ruling": "lift", "seconds": "soon"})
    nowhere = browser.post("/fleet-guards/overrule?environment=mars", {"ruling": "lift", "seconds": "60"})

    assert (engaged.guard_mode, engaged.guard_mode_set_by) == ("engage", "jane")
    assert (wrong.status_code, nowhere.status_code) == (400, 404)
    assert "by jane" in text_of(browser.get("/fleet-guards"))
    assert "Fleet guard engaged in" in text_of(browser.get("/agents"))


def test_task_types_tell_who_serves_them(browser, agent):
    ServedTaskType.objects.create(agent=agent, name="spark", version="v2")

    listed, type_page = text_of(browser.get("/task-types?q=spa")), text_of(browser.get("/task-types/spark"))

    assert "v2" in listed
    assert "prod-eu-1" in type_page
    assert browser.get("/task-types/ray").status_code == 404
    assert "No task types match" in text_of(browser.get("/task-types?q=ray"))


def test_an_agents_page_shows_its_lease_and_a_duplicate(db):
    browser, api = logged_in("ann", Role.ADMIN), Api(token_for("admin"))
    body = {**AGENT, "instance_uuid": "00000000-0000-4000-8000-000000000001"}
    agent_id = api.post("agents", body).json()["agent_id"]

    def page() -> str:
        return browser.get(f"/agents/{agent_id}").content.decode()

    assert "UTC, 90 s after each heartbeat</dd>" in page()
    api.post("agents:set-environment-lease", {"environment": "prod", "lease_seconds": 600})
    assert "600 s after each heartbeat, set for its environment" in page()
    api.post(f"agents/{agent_id}:set-lease", {"lease_seconds": 1800})
    assert "1800 s after each heartbeat, set for this agent" in page()
    assert "Another process uses this name" not in page()
    for _ in range(2):
        api.post("agents", {**body, "instance_uuid": "00000000-0000-4000-8000-000000000002"})
        api.put(f"agents/{agent_id}/heartbeat", {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0})
    assert "Another process uses this name" in page()


def test_the_list_shows_what_each_agent_did_in_the_last_hour(browser, agent):
    Agent.objects.filter(id=agent.id).update(created_at=Now() - timedelta(hours=3))
    move(agent, State.UNAVAILABLE, reason="No heartbeat.", actor="system")
    Agent.objects.filter(id=agent.id).update(state_since=Now() - timedelta(minutes=12))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # events never change, but here
        Event.objects.filter(object_id=str(agent.id)).update(at=Now() - timedelta(minutes=12))
        cursor.execute("SET LOCAL session_replication_role = DEFAULT")

    text = text_of(browser.get("/agents?q=prod-eu-1"))

    (strip,) = re.findall(r'<svg class="hour".*?</svg>', text, re.DOTALL)
    assert "<title>ready 48 min, unavailable 12 min</title>" in strip
    assert re.findall(r'path class="(\w+)" d="(.+?)"', strip) == [
        ("ready", "M0 80h800"),
        ("unavailable", "M800 80h200"),
    ]
    hidden = text_of(browser.get("/agents?q=prod-eu-1&columns=name,state"))
    assert 'class="hour"' not in hidden


@pytest.mark.parametrize(
    ("minutes", "words"),
    [
        ([("ready", 60)], "ready 60 min"),
        ([("ready", 10), ("unavailable", 40), ("ready", 10)], "unavailable 40 min, ready 20 min"),
        ([("ready", 59.8), ("unknown", 0.2)], "ready 60 min, unknown < 1 min"),
        ([], ""),
    ],
)
def test_a_strip_is_told_in_words(minutes, words):
    at, spans = datetime(2026, 11, 1, tzinfo=UTC), []
    for state, length in minutes:
        spans.append(timeline.Span(state, at, at + timedelta(minutes=length), 0, 0))
        at += timedelta(minutes=length)

    assert timeline.summary(spans) == words


def test_the_page_of_an_agent_says_how_requests_reach_it(browser, agent):
    page = f"/agents/{agent.id}"
    assert "<dt>Delivery</dt>" not in text_of(browser.get(page))

    AgentMessaging.objects.create(agent=agent, has_consumer=True, is_listening=True, checked_at=Now())

    assert "<dt>Delivery</dt><dd>NATS, waits for requests, since <time" in text_of(browser.get(page))
