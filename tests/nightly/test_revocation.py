"""How long a revoked token still works, on each path: specification of access, section 9.

A token warms every path first, so that each has cached what it caches. The table is printed (`-s`).
"""

from __future__ import annotations

import json
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from typing import Any

import grpc
import pytest
from flyteidl.admin import project_pb2
from flyteidl.service import admin_pb2_grpc

from controlplane.access.issue_tokens import revoke_token
from controlplane.access.models import Principal, Token
from controlplane.access.principals import create_token
from controlplane.access.role_bindings import bind_role
from controlplane.access.teams.memberships import add_member, remove_member
from controlplane.access.teams.teams import create_team
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, AGENT, Api, make_principal, make_project, token_for
from tests.support.oauth_flows import basic, post, service_client

# Seconds within which each path must refuse.
LIMITS = {"plain": 0.5, "fast read": 1.0, "heartbeat": 1.0, "gRPC": 0.5, "stream": 5.0}
BEAT = {"timestamp": "2026-11-21T09:30:00Z", "consumer_lag": 0}
ROUNDS = 5


class Paths:
    """Every way in, with one token. Each returns True while the token works."""

    def __init__(self, live: Any, token: str, agent_id: str) -> None:
        self.live, self.token, self.agent_id = live, token, agent_id
        channel = grpc.insecure_channel(f"127.0.0.1:{live.grpc_port}")
        self.admin = admin_pb2_grpc.AdminServiceStub(channel)

    def ways(self) -> dict[str, Callable[[], bool]]:
        return {
            "plain": lambda: self._http("GET", "me"),
            "fast read": lambda: self._http("GET", "overrides/effective?project=flytesnacks"),
            "heartbeat": lambda: self._http("PUT", f"agents/{self.agent_id}/heartbeat", BEAT),
            "gRPC": self._grpc,
        }

    def _http(self, method: str, path: str, body: Any = None) -> bool:
        data = None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        url = f"{self.live.url}/api/v1/{path}"
        request = urllib.request.Request(url, data, headers, method=method)  # our own server
        try:
            with urllib.request.urlopen(request, timeout=10):  # our own server
                return True
        except urllib.error.HTTPError as error:
            error.close()
            return error.code not in (401, 403)

    def _grpc(self) -> bool:
        metadata = (("flyte-authorization", f"Bearer {self.token}"),)
        try:
            answer = self.admin.ListProjects(project_pb2.ProjectListRequest(), metadata=metadata, timeout=10)
        except grpc.RpcError as error:
            return error.code() not in (grpc.StatusCode.UNAUTHENTICATED, grpc.StatusCode.PERMISSION_DENIED)
        # A caller without roles gets an empty list.
        return bool(answer.projects)

    def open_stream(self) -> threading.Event:
        """Follow events in a thread; the result is set when the server ends the stream."""
        headers = {"Authorization": f"Bearer {self.token}", "Accept": "text/event-stream"}
        request = urllib.request.Request(f"{self.live.url}/api/v1/events", headers=headers)  # ours
        answer = urllib.request.urlopen(request, timeout=30)  # our own server
        ended = threading.Event()

        def read() -> None:
            with answer:
                while answer.readline():
                    pass
            ended.set()

        threading.Thread(target=read, daemon=True).start()
        return ended


def oauth_token(principal_roles: tuple[str, ...]) -> tuple[str, Principal]:
    client, secret = service_client(*principal_roles)
    answer = post("/oauth2/token", {"grant_type": "client_credentials"}, **basic(client.client_id, secret))
    assert client.principal is not None
    return answer.json()["access_token"], client.principal


def measured(paths: Paths, take_away: Callable[[], None]) -> dict[str, float]:
    """Warm every path, take the right away, and time each refusal."""
    for _ in range(3):
        for name, works in paths.ways().items():
            assert works(), name
    stream = paths.open_stream()
    take_away()
    began = time.monotonic()
    seconds = {}
    for name, works in paths.ways().items():
        while works():
            assert time.monotonic() - began < 15, name
        seconds[name] = time.monotonic() - began
    assert stream.wait(15)
    return {**seconds, "stream": time.monotonic() - began}


def report(way: str, rounds: list[dict[str, float]]) -> None:
    worst = {name: max(seconds[name] for seconds in rounds) for name in LIMITS}
    print(f"\n{way}: " + ", ".join(f"{name} {value:.2f} s" for name, value in worst.items()))
    assert {name: value for name, value in worst.items() if value > LIMITS[name]} == {}


@pytest.fixture
def agent(live: Any) -> Callable[[str], str]:
    make_project()
    number = iter(range(100))

    def register(token: str) -> str:
        name = f"a{next(number)}"
        body = {**AGENT, "name": name, "topic_name": f"dcm.agent.{name}"}
        answer = Api(token).post("agents", body)
        assert answer.status_code == 201, answer.content
        return str(answer.json()["agent_id"])

    return register


def test_a_revoked_oauth_token(live, agent):
    rounds = []
    for _ in range(ROUNDS):
        secret, principal = oauth_token(("viewer", "agent"))
        paths = Paths(live, secret, agent(secret))
        token = Token.objects.get(principal=principal)
        rounds.append(measured(paths, lambda: revoke_token(token.id, of=None, actor=ACTOR)))  # noqa: B023  # called at once
    report("revoked OAuth token", rounds)


def test_a_revoked_personal_token(live, agent):
    rounds = []
    for _ in range(ROUNDS):
        secret = token_for("viewer", "agent")
        token = Token.objects.latest("created_at")
        paths = Paths(live, secret, agent(secret))
        rounds.append(measured(paths, lambda: revoke_token(token.id, of=None, actor=ACTOR)))  # noqa: B023  # called at once
    report("revoked personal token", rounds)


def test_a_removed_member_of_a_team(live, agent):
    """The roles are held by the team. The token stays valid, so `me` keeps answering."""
    make_principal("admin")
    rounds = []
    for number in range(ROUNDS):
        team = create_team(f"t{number}", actor=ACTOR)
        for role in (Role.VIEWER, Role.AGENT):
            bind_role(team, role, Scope(), actor=ACTOR)
        member = make_principal()
        add_member(team, member, actor=ACTOR)
        _, secret = create_token(member, name="t", expires_at=None, actor=ACTOR)
        paths = Paths(live, secret, agent(secret))
        ways = paths.ways()
        del ways["plain"]
        paths.ways = lambda ways=ways: ways  # type: ignore[method-assign,misc]  # `me` needs no role
        rounds.append(
            {"plain": 0.0, **measured(paths, lambda: remove_member(team, member, actor=ACTOR))}  # noqa: B023  # called at once
        )
    report("removed member of a team", rounds)
