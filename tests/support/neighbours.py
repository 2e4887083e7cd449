"""Two teams on one installation: one does its worst, the other publishes, reads and beats.

The everyday test plays it for some seconds, the nightly one for a minute with the ratio of the waiting times.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from controlplane.access import principals, role_bindings
from controlplane.access.models import PrincipalKind
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from tests.support.api_client import ACTOR, AGENT, Api, make_principal, make_project
from tests.support.neighbour_calls import (
    DOCUMENTS,
    MALICE,
    PATTERN,
    Answer,
    Caller,
    Records,
    Step,
    Worker,
    misbehave,
    put,
    text,
    working,
)


@dataclass
class Team:
    """A team with its principal, its agents and its project."""

    name: str
    token: str
    agent_token: str
    agents: list[str]


class Installation:
    """Two teams, a data plane, and a type with a pattern that is a trap for backtracking matchers."""

    def __init__(self, port: int, admin: Api) -> None:
        self.port = port
        self.admin = admin
        admin.put("data-planes/shared", {})
        for name in ("good", "bad"):
            make_project(name)
        # Whether such a type is accepted is not the question here: nobody else may feel it.
        admin.post("resource-types", _type_with_pattern())
        self.good, self.bad = self._team("good", agents=4), self._team("bad", agents=1)
        principals.create_principal("good-person", kind=PrincipalKind.PERSON, actor=ACTOR)
        # The neighbour is there first, so that whoever claims its names is a challenger.
        for number in range(DOCUMENTS):
            body = {"text": text("good", number, 0)}
            assert Api(self.good.token).put(f"agent-configs/good/d{number}", body).status_code == 201

    def _team(self, name: str, *, agents: int) -> Team:
        principal = make_principal("editor", "agent", scope=Scope(project=name), name=f"{name}-ci")
        if name == "good":
            role_bindings.bind_role(principal, Role("viewer"), Scope(), actor=ACTOR)
        _, token = principals.create_token(principal, name="ci", expires_at=None, actor=ACTOR)
        self.admin.put(f"agent-config-teams/{name}", {"publishers": [f"{name}-ci"]})
        beating = make_principal("agent", name=f"{name}-agents")
        _, agent_token = principals.create_token(beating, name="agents", expires_at=None, actor=ACTOR)
        registered = []
        for number in range(agents):
            body = {**AGENT, "name": f"{name}{number}", "topic_name": f"dcm.agent.{name}{number}"}
            registered.append(Api(agent_token).post("agents", body).json()["agent_id"])
        return Team(name, token, agent_token, registered)


def _type_with_pattern() -> dict[str, Any]:
    return {
        "name": "trap",
        "strategy": "merge",
        "schema": {
            "type": "object",
            "additionalProperties": False,
            "properties": {"name": {"type": "string", "pattern": PATTERN}},
        },
    }


# What the good team does.


def publish(caller: Caller, number: int) -> tuple[str, Answer]:
    """Change one document after the other, none so often that it would look like flapping."""
    document, change = number % DOCUMENTS, number + 1
    return "publish", put(caller, f"agent-configs/good/d{document}", {"text": text("good", document, change)})


def read(caller: Caller, number: int) -> tuple[str, Answer]:
    paths = (
        f"agent-configs/good/d{number % DOCUMENTS}",
        "overrides/effective?project=good&domain=development",
        "agent-config-claims?team=good",
    )
    return "read", caller("GET", paths[number % len(paths)])


def beat(agents: list[str]) -> Step:
    def step(caller: Caller, number: int) -> tuple[str, Answer]:
        body = {"timestamp": datetime.now(UTC).isoformat(), "consumer_lag": 0}
        return "beat", caller("PUT", f"agents/{agents[number % len(agents)]}/heartbeat", body)

    return step


def live(caller: Caller, number: int) -> tuple[str, Answer]:
    return "livez", caller("GET", "/livez")


def play(
    installation: Installation, seconds: float, malice: tuple[Step, ...] = MALICE
) -> tuple[Records, Records]:
    """What the good team was answered, and what the bad one was, while both work for so long."""
    good, stopping = Records(), threading.Event()
    port, ours = installation.port, installation.good
    allowed = (200, 201, 204, 304)
    workers = [
        Worker(Caller(port, ours.token), publish, good, stopping, pause=1.0, allowed=allowed),
        Worker(Caller(port, ours.token), read, good, stopping, pause=0.05, allowed=allowed),
        Worker(Caller(port, ours.agent_token), beat(ours.agents), good, stopping, pause=0.2, allowed=allowed),
        Worker(Caller(port), live, good, stopping, pause=0.2, allowed=allowed),
    ]
    with ThreadPoolExecutor(1) as beside, working(workers, stopping):
        if not malice:
            time.sleep(seconds)
            return good, Records()
        bad = beside.submit(misbehave, port, installation.bad.token, seconds, malice)
        return good, bad.result()


def settle(installation: Installation, seconds: float = 30) -> list[str]:
    """What of the good team's documents is not in force, once the worker had time to look."""
    deadline = time.monotonic() + seconds
    while True:
        waiting = list(_waiting(installation))
        if not waiting or time.monotonic() > deadline:
            return waiting
        time.sleep(0.5)


def _waiting(installation: Installation) -> Iterator[str]:
    for number in range(DOCUMENTS):
        answer = installation.admin.get(f"agent-configs/good/d{number}")
        if answer.status_code == 404:
            continue
        for plane in answer.json()["data_planes"] or [{"conditions": [], "data_plane": "none"}]:
            conditions = {condition["type"]: condition for condition in plane["conditions"]}
            if conditions.get("Programmed", {}).get("reason") != "Programmed":
                yield f"d{number} in {plane['data_plane']}: {conditions.get('Programmed')}"
            if conditions.get("Accepted", {}).get("status") != "True":
                yield f"d{number} in {plane['data_plane']}: {conditions.get('Accepted')}"
