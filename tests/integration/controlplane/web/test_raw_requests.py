"""Odd requests on real sockets: with fast paths and without, answers and effects are the same."""

from __future__ import annotations

import itertools
import json
import re
from dataclasses import replace

import pytest

from controlplane.access.models import Principal
from registry.agents.models import Agent, Lease
from tests.conftest import as_application
from tests.support.api_client import AGENT, Api, make_project, token_for
from tests.support.launcher import Web
from tests.support.odd_requests import CLOSING, Plain, odd_requests
from tests.support.raw_answers import answers_of, converse, statuses_of

SWITCHES = ("HEARTBEAT_CONNECTIONS", "JOINS_AT_ONCE", "EFFECTIVE_SNAPSHOT_MIB", "CONFIG_POLL_CONNECTIONS")
WITHOUT_FAST_PATHS = dict.fromkeys(SWITCHES, "0")
# They wait for more bytes, which do not come: the client closes its side.
UNFINISHED = {"TLS", "bare CR", "CL overflow", "chunk with a bare LF"}
_number = itertools.count(1)


@pytest.fixture(scope="module")
def ordinary(system, tmp_path_factory):
    """The same application without fast paths."""
    folder = tmp_path_factory.mktemp("ordinary")
    running = Web({**as_application(system.environment, "web"), **WITHOUT_FAST_PATHS}, folder, workers=1)
    running.wait_until_ready()
    yield running
    running.kill()


class Heartbeats:
    def __init__(self) -> None:
        token = token_for("agent")
        self.agent_id = Api(token).post("agents", AGENT).json()["agent_id"]
        target = f"/api/v1/agents/{self.agent_id}/heartbeat".encode()
        self.plain = Plain(b"PUT", target, token.encode(), self.body(10))

    @staticmethod
    def body(lag) -> bytes:
        return json.dumps({"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": lag}).encode()

    def fresh(self, server):
        Lease.objects.update(consumer_lag=9)
        return self.plain

    def effect(self):
        return Lease.objects.get().consumer_lag


class Joins:
    def __init__(self) -> None:
        invitation = {"name": "fleet", "name_pattern": "*", "uses": 10_000}
        token = Api(token_for("admin")).post("join-tokens", invitation).json()["token"]
        self.plain = Plain(b"POST", b"/api/v1/agents:join", token.encode(), b"x")

    def fresh(self, server):
        """A name of the same length each time."""
        name = f"{server}{next(_number):06}"
        body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
        self.before = Agent.objects.count()
        return replace(self.plain, body=json.dumps(body).encode())

    def effect(self):
        return Agent.objects.count() - self.before


class Reads:
    def __init__(self) -> None:
        make_project()
        target = b"/api/v1/overrides/effective?project=flytesnacks&domain=development"
        self.plain = Plain(b"GET", target, token_for("viewer").encode())

    def fresh(self, server):
        return self.plain

    def effect(self):
        return None


class Polls(Reads):
    def __init__(self) -> None:
        token = token_for("agent")
        spec = {"principal": Principal.objects.get(name__startswith="agent-").name}
        Api(token_for("admin")).put("data-planes/eu", spec)
        path = "/api/v1/data-planes/eu/config"
        etag = Api(token).get(path)["ETag"]
        self.plain = Plain(b"GET", path.encode(), token.encode(), etag=etag.encode())


def outcome(port, subject, server, name):
    """What a server answers to a request, and what that changes."""
    request = odd_requests(subject.fresh(server))[name]
    unfinished = name in UNFINISHED
    received = converse(port, [request if unfinished else request + CLOSING], ends=unfinished)
    # Names of agents that join, by server and number.
    received = re.sub(rb"[fs]\d{6}\b", b"x000000", received)
    return answers_of(received, to_head=name == "HEAD"), subject.effect()


@pytest.mark.parametrize(
    "make",
    [Heartbeats, pytest.param(Joins, marks=pytest.mark.nightly), Reads, Polls],
)
def test_an_odd_request_is_answered_as_without_fast_paths(live, ordinary, make):
    subject = make()
    for _ in range(12):
        converse(live.port, [subject.fresh("w").write() + CLOSING])
        converse(ordinary.port, [subject.fresh("v").write() + CLOSING])
    different = {}

    for name in odd_requests(subject.plain):
        fast = outcome(live.port, subject, "f", name)
        slow = outcome(ordinary.port, subject, "s", name)
        if fast != slow:
            different[name] = (fast, slow)

    for name, (fast, slow) in different.items():
        print(name, "\n  fast:", fast, "\n  slow:", slow)
    assert not different.keys()


@pytest.mark.parametrize("name", ["h2c", "h2c, and one behind", "websocket", "upgrade without connection"])
def test_a_wish_for_another_protocol_is_passed_over(live, ordinary, name):
    subject = Heartbeats()
    for server in (live, ordinary):
        answers, lag = outcome(server.port, subject, "f", name)
        assert (set(statuses_of(answers)), lag) == ({200}, 10)


def test_a_request_may_arrive_in_any_pieces(live):
    subject = Heartbeats()
    request = subject.plain.write() * 2 + CLOSING
    pieces = [[request[i : i + 1] for i in range(len(request))]]
    pieces += [[request[:at], request[at:]] for at in range(1, len(request), 17)]

    found = {tuple(statuses_of(answers_of(converse(live.port, each)))) for each in pieces}

    assert found == {(200, 200, 200)}
