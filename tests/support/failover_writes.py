"""Writers that keep what they were told, and what a failover made of it.

Each change has a number of its own, and whatever its writer was told about it is compared with the database
at the end.
"""

from __future__ import annotations

import http.client
import itertools
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

# Said for sure: nothing of the request is left.
UNCHANGED = {(503, "database_unavailable"), (503, "read_only"), (429, "throttled")}
# The first request with the key, or one that holds the name, is not finished.
_BUSY = {(409, "idempotency_key_in_flight"), (503, "lock_timeout")}
_TIMEOUT_SECONDS = 20.0


class Told(StrEnum):
    """What the writer of a change knows at the end."""

    DONE = "acknowledged"
    NOT_DONE = "not done"
    UNKNOWN = "unknown"


@dataclass(slots=True)
class Change:
    """told: by all answers together. unknown: how many of them left it open."""

    name: str
    told: Told = Told.UNKNOWN
    unknown: int = 0
    answers: list[tuple[int, str]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of change. request: returns method, path and body of the change with a number."""

    name: str
    request: Callable[[str], tuple[str, str, dict[str, Any]]]
    pause: float = 0.01


@dataclass(frozen=True, slots=True)
class Verdict:
    """What became of the changes of one kind."""

    acknowledged: int
    unknown: int
    lost: list[str]
    twice: list[str]
    untrue: list[str]


def judge(changes: Iterable[Change], found: Mapping[str, int]) -> Verdict:
    """Compare what writers were told with how often each change is in the database."""
    changes = list(changes)
    told = {told: [change.name for change in changes if change.told is told] for told in Told}
    return Verdict(
        acknowledged=len(told[Told.DONE]),
        unknown=sum(bool(change.unknown) for change in changes),
        lost=[name for name in told[Told.DONE] if not found.get(name)],
        twice=[change.name for change in changes if found.get(change.name, 0) > 1],
        untrue=[name for name in told[Told.NOT_DONE] if found.get(name)],
    )


def longest_gap(times: Sequence[float], since: float, until: float) -> float:
    """Return the longest time between two of the times, the first at or before `since`."""
    inside = sorted([since, *(at for at in times if since <= at <= until), until])
    return max(later - earlier for earlier, later in itertools.pairwise(inside))


class Writer(threading.Thread):
    """Makes one change after the other, and repeats with its key what was not acknowledged.

    After an answer that nothing was changed it gives up now and then, so that this can be verified; and so
    it does after an unknown outcome.
    """

    def __init__(self, port: int, token: str, kind: Kind, number: int) -> None:
        super().__init__(daemon=True)
        self.kind, self.number = kind, number
        self.changes: list[Change] = []
        self.acknowledged_at: list[float] = []
        self.wrong: list[tuple[str, int, str]] = []
        self.answers: Counter[tuple[int, str]] = Counter()
        # What was acknowledged last: whoever asks from now on must see it.
        self.last_done = ""
        self.stopping = threading.Event()
        self._random = random.Random(number)
        self._connection = http.client.HTTPConnection("127.0.0.1", port, timeout=_TIMEOUT_SECONDS)
        self._headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}

    def run(self) -> None:
        for number in itertools.count(1):
            if self.stopping.wait(self.kind.pause):
                return
            change = Change(f"{self.kind.name}-{self.number}-{number}")
            self.changes.append(change)
            while not self._is_settled(change) and not self.stopping.wait(0.1):
                pass

    def _is_settled(self, change: Change) -> bool:
        """Send the change once; return whether its writer goes on to the next one."""
        status, code = self._send(change)
        change.answers.append((status, code))
        self.answers[status, code] += 1
        if status in (200, 201, 202):
            change.told = Told.DONE
            self.last_done = change.name
            self.acknowledged_at.append(time.monotonic())
            return True
        if (status, code) in UNCHANGED:
            change.told = Told.UNKNOWN if change.unknown else Told.NOT_DONE
            return self._random.random() < 0.2
        if (status, code) not in _BUSY:
            change.told = Told.UNKNOWN
            change.unknown += 1
            if status and (status, code) != (503, "outcome_unknown"):
                self.wrong.append((change.name, status, code))
                return True
        return bool(change.unknown) and self._random.random() < 0.02

    def _send(self, change: Change) -> tuple[int, str]:
        """Return the status and the code of the problem; 0 if there was no answer."""
        method, path, body = self.kind.request(change.name)
        headers = {**self._headers, "Idempotency-Key": change.name}
        try:
            self._connection.request(method, f"/api/v1/{path}", json.dumps(body), headers)
            answer = self._connection.getresponse()
            content = answer.read()
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return 0, "no answer"
        return answer.status, "" if answer.status < 300 else _code(content)


def _code(content: bytes) -> str:
    """Return the code of a problem document. A proxy's own page has none."""
    try:
        return str(json.loads(content).get("code"))
    except ValueError:
        return "no problem document"


def _number_of(name: str) -> int:
    return int(name.rpartition("-")[2])


def _team(name: str) -> tuple[str, str, dict[str, Any]]:
    return "POST", "teams", {"slug": name, "title": name}


def _lease(name: str) -> tuple[str, str, dict[str, Any]]:
    return "POST", "pools/failover/leases", {"token": name, "lease_seconds": 0}


def _override(name: str) -> tuple[str, str, dict[str, Any]]:
    """Each writer has a project, and each change a value of its own there."""
    project = name.rpartition("-")[0]
    spec = {"taskResources": {"defaults": {"cpu": str(_number_of(name))}}}
    document = {"kind": "overrides", "project": project, "domain": "development", "spec": spec}
    return "POST", "overrides:apply?managed_by=lane", {"documents": [document]}


def _resource(name: str) -> tuple[str, str, dict[str, Any]]:
    return "POST", f"resources?id={name}", {"service_type": "vm", "spec": {"number": _number_of(name)}}


TEAM, LEASE, OVERRIDE = Kind("team", _team), Kind("lease", _lease), Kind("override", _override)
# Each leaves work behind: a message, and an agent that does not answer it.
RESOURCE = Kind("resource", _resource, pause=0.2)
# How often each change took effect, by its name.
FOUND = {
    TEAM: "SELECT object_id, count(*) FROM access_auditrecord WHERE object_type = 'team' GROUP BY 1",
    LEASE: "SELECT token, count(*) FROM pools_poollease GROUP BY 1",
    OVERRIDE: """
        SELECT project || '-' || (attributes #>> '{defaults,cpu}'), count(*) FROM overrides_overrideversion
         WHERE attributes IS NOT NULL GROUP BY 1
    """,
    RESOURCE: """
        SELECT object_id, count(*) FROM access_auditrecord WHERE action = 'resource.requested' GROUP BY 1
    """,
}
