"""Requests in a minute: by token, by address, and who is not counted."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import yaml
from django.test import Client

from controlplane.access import attempt_counters
from controlplane.access.tokens import Prefix, new_token
from controlplane.api import throttles
from controlplane.identity.roles import Role
from controlplane.openapi import document
from controlplane.settings.environment import DECLARED
from tests.support.api_client import AGENT, Api, logged_in, token_for

NOWHERE = "redis://127.0.0.1:1/0"


@pytest.fixture(autouse=True)
def _one_minute(monkeypatch):
    """The minute does not end within a test."""
    monkeypatch.setattr(throttles.time, "time", lambda: 1_800_000_010.0)
    monkeypatch.setattr(throttles, "_requests", throttles.RequestCounter())
    monkeypatch.setattr(throttles, "_luck", lambda: 0.0)
    attempt_counters.start_over()
    yield
    attempt_counters.start_over()


def test_a_token_is_refused_above_its_limit_and_others_are_not(db, settings):
    settings.THROTTLE_CALLER_PER_MINUTE = 3
    busy, other = Api(token_for("viewer")), Api(token_for("viewer"))

    statuses = [busy.get("me").status_code for _ in range(4)]
    refused = busy.get("me")

    assert statuses == [200, 200, 200, 429]
    assert refused["Content-Type"] == "application/problem+json"
    assert refused["Retry-After"] == "50"
    assert (refused.json()["code"], refused.json()["retry_after"]) == ("too_many_attempts", 50)
    assert other.get("me").status_code == 200


def test_each_answer_has_what_is_left(db, settings):
    settings.THROTTLE_CALLER_PER_MINUTE = settings.THROTTLE_ANONYMOUS_PER_MINUTE = 2
    api, anybody = Api(token_for("viewer")), Client()

    answers = [api.get("me") for _ in range(3)]

    assert [answer["RateLimit"] for answer in answers] == [f'"token";r={left};t=50' for left in (1, 0, 0)]
    assert {answer["RateLimit-Policy"] for answer in answers} == {'"token";q=2;w=60'}
    assert api.get("overrides/nothing")["RateLimit"] == '"token";r=0;t=50'
    assert anybody.get("/api/v1/me")["RateLimit"] == '"address";r=1;t=50'
    assert logged_in("jane", Role.ADMIN).get("/api/v1/me")["RateLimit"] == '"caller";r=1;t=50'
    settings.THROTTLE_CALLER_PER_MINUTE = 0
    assert "RateLimit" not in api.get("me").headers


def test_refused_clients_come_back_one_after_another(db, settings, monkeypatch):
    settings.THROTTLE_CALLER_PER_MINUTE = 1
    api = Api(token_for("viewer"))
    api.get("me")
    luck = iter([0.0, 0.5, 0.99])
    monkeypatch.setattr(throttles, "_luck", lambda: next(luck))

    assert [api.get("me")["Retry-After"] for _ in range(3)] == ["50", "55", "60"]


def test_the_limit_ends_with_its_minute(db, settings, monkeypatch):
    settings.THROTTLE_CALLER_PER_MINUTE = 1
    api = Api(token_for("viewer"))
    assert [api.get("me").status_code for _ in range(2)] == [200, 429]

    monkeypatch.setattr(throttles.time, "time", lambda: 1_800_000_060.0)

    assert api.get("me").status_code == 200


def test_a_session_is_counted_by_its_person(db, settings):
    settings.THROTTLE_CALLER_PER_MINUTE = 2
    browser = logged_in("jane", Role.ADMIN)

    assert [browser.get("/api/v1/me").status_code for _ in range(3)] == [200, 200, 429]


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer nonsense"}, {"Authorization": "Basic x"}])
def test_an_address_without_a_valid_token_is_refused_above_its_limit(db, settings, headers):
    settings.THROTTLE_ANONYMOUS_PER_MINUTE = 2
    anybody = Client(headers=headers)

    answers = [anybody.get("/api/v1/me") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [401, 401, 429]
    assert answers[2]["Retry-After"] == "50"
    # A valid token works from the same address.
    assert Api(token_for("viewer")).get("me").status_code == 200


def test_guessed_tokens_are_counted(db, settings):
    settings.THROTTLE_ANONYMOUS_PER_MINUTE = 2

    assert [Api(new_token(Prefix.PERSONAL)).get("me").status_code for _ in range(3)] == [401, 401, 429]


def test_anonymous_readers_are_counted_by_address(db, settings):
    settings.ANONYMOUS_READ = True
    settings.THROTTLE_ANONYMOUS_PER_MINUTE = 2

    assert [Api().get("overrides").status_code for _ in range(3)] == [200, 200, 429]


def test_agents_are_not_counted(db, settings):
    settings.THROTTLE_CALLER_PER_MINUTE = settings.THROTTLE_ANONYMOUS_PER_MINUTE = 1
    fleet = Api(token_for("agent"))
    beat = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}

    registered = [
        fleet.post("agents", {**AGENT, "name": f"a{number}", "topic_name": f"dcm.agent.a{number}"})
        for number in range(3)
    ]
    beats = [
        fleet.put(f"agents/{item.json()['agent_id']}/heartbeat", beat).status_code
        for item in registered
        for _ in "12"
    ]

    assert set(beats) == {200}
    assert {Api(new_token(Prefix.JOIN)).post("agents:join", AGENT).status_code for _ in range(3)} == {401}


def test_no_limit_where_the_setting_is_zero(db, settings):
    settings.THROTTLE_CALLER_PER_MINUTE = settings.THROTTLE_ANONYMOUS_PER_MINUTE = 0

    assert {Api(token_for("viewer")).get("me").status_code for _ in range(3)} == {200}
    assert {Api().get("me").status_code for _ in range(3)} == {401}


def test_without_valkey_nobody_waits_and_the_process_counts_by_itself(db, settings):
    settings.REDIS_URL = NOWHERE
    settings.THROTTLE_CALLER_PER_MINUTE = 50
    api = Api(token_for("viewer"))
    began = time.monotonic()

    statuses = [api.get("me").status_code for _ in range(51)]

    assert statuses == [200] * 50 + [429]
    assert time.monotonic() - began < 50  # A second of waiting for Valkey in each would be 51.


def test_requests_are_counted_in_portions_that_all_processes_see(monkeypatch):
    trips = []
    add = attempt_counters.add
    monkeypatch.setattr(attempt_counters, "add", lambda *arguments: trips.append(1) or add(*arguments))
    processes = [throttles.RequestCounter() for _ in range(2)]

    counts = [processes[number % 2].add("token", 7, 2000) for number in range(1000)]

    # Each process has at most nine requests that the other one has not heard of.
    assert all(number + 1 - 18 <= count <= number + 1 for number, count in enumerate(counts))
    assert len(trips) == 100


def test_a_process_keeps_counts_of_so_many_tokens_and_of_one_minute(monkeypatch):
    monkeypatch.setattr(throttles, "_MOST_KEYS", 100)
    counter = throttles.RequestCounter()

    for number in range(1000):
        counter.add(f"token-{number}", 7, 6000)

    assert len(counter._counts) <= 102
    counter.add("token", 8, 6000)
    assert len(counter._counts) == 1


def test_the_defaults_leave_room_for_pipelines():
    assert int(DECLARED["THROTTLE_CALLER_PER_MINUTE"].default or 0) >= 6000


def test_parallel_requests_are_counted_one_by_one(settings):
    settings.THROTTLE_CALLER_PER_MINUTE = 10

    def passes(_):
        try:
            throttles._count("token", "parallel", 10, "this token")
        except throttles.TooManyAttempts:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(passes, range(40))).count(True) == 10


def test_the_description_says_where_429_can_come():
    paths = yaml.load(document(None).content, Loader=yaml.CSafeLoader)["paths"]

    assert "429" in paths["/api/v1/me"]["get"]["responses"]
    assert "429" in paths["/api/v1/agents"]["get"]["responses"]
    assert "429" not in paths["/api/v1/agents"]["post"]["responses"]
    assert "429" not in paths["/api/v1/agents/{agent_id}/heartbeat"]["put"]["responses"]


def test_flytes_calls_with_a_token_are_counted_and_refused_in_flytes_format(db, settings):
    settings.THROTTLE_CALLER_PER_MINUTE = 2
    api = Api(token_for("viewer"))

    answers = [api.get("domains") for _ in range(3)]

    assert [answer.status_code for answer in answers] == [200, 200, 429]
    assert answers[2]["Retry-After"] == "50"
    assert answers[2].json()["code"] == 8
    assert "Try again in 50 seconds" in answers[2].json()["message"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({}, 200), ({"Authorization": "Bearer nonsense"}, 401), ({"Authorization": "x"}, 401)],
)
def test_flytes_calls_without_a_valid_token_are_counted_by_address(db, settings, headers, status):
    settings.THROTTLE_ANONYMOUS_PER_MINUTE = 2
    settings.ANONYMOUS_READ = True
    anybody = Client(headers=headers)

    statuses = [anybody.get("/api/v1/domains").status_code for _ in range(3)]

    assert statuses == [status, status, 429]
