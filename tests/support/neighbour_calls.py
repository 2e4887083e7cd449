"""Calls of teams to a real server, timed and counted; and all that a team can do to harm its neighbours.

Plain HTTP and no Django: the harm is done by a process of its own.
"""

from __future__ import annotations

import http.client
import json
import multiprocessing
import os
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlencode

# The longest that anybody waits for an answer before it counts as none.
PATIENCE = 20
DOCUMENTS = 10
PATTERN = "^(a+)+$"
_VICTIM = "a" * 40 + "!"
# The attacker's own work is done elsewhere in real life: here it must not take the server's processors.
_NICENESS = 15


def text(team: str, number: int, change: int) -> str:
    """A small document with one agent."""
    return (
        f"plugins:\n  agent-service:\n    agents:\n      {team}-{number}:\n"
        f"        endpoint: {team}{number}-{change}.{team}.svc.cluster.local:8000\n        insecure: true\n"
        f"    supportedTaskTypes:\n    - {team}.{number}\n"
    )


def crowd(team: str, agents: int, *, endpoint: str = "", filling: str = "") -> str:
    """A document with many agents, up to as many bytes as anybody wants."""
    lines = ["plugins:", "  agent-service:", "    agents:"]
    for number in range(agents):
        place = endpoint or f"{team}-{number}.{team}.svc.cluster.local:8000"
        lines += [f"      {team}-crowd-{number}:", f"        endpoint: {place}"]
        if filling:
            lines.append(f'        defaultServiceConfig: \'{{"x": "{filling}"}}\'')
    lines.append("    agentForTaskTypes:")
    lines += [f"    - {team}.crowd.{number}: {team}-crowd-{number}" for number in range(agents)]
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: dict[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


class Caller:
    """One connection to a real server, opened again when it breaks. A call without an answer has status 0."""

    def __init__(self, port: int, token: str = "", *, patience: float = PATIENCE) -> None:
        self.port, self.token, self.patience = port, token, patience
        self._connection: http.client.HTTPConnection | None = None

    def __call__(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        all_headers = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token:
            all_headers["Authorization"] = f"Bearer {self.token}"
        if isinstance(body, (dict, list)):
            body = json.dumps(body)
            all_headers.setdefault("Content-Type", "application/json")
        path = path if path.startswith("/") else f"/api/v1/{path}"
        try:
            connection = self._connection or self._open()
            connection.request(method, path, body, all_headers)
            answer = connection.getresponse()
            return Answer(answer.status, dict(answer.headers), answer.read())
        except (OSError, http.client.HTTPException) as error:
            self._connection = None
            return Answer(0, {}, repr(error).encode())

    def _open(self) -> http.client.HTTPConnection:
        self._connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.patience)
        return self._connection


def _lists() -> defaultdict[str, list[float]]:
    # Named, so that records can be sent to another process.
    return defaultdict(list)


@dataclass
class Records:
    """What one side was answered: seconds of each call by its kind, and the calls that were refused."""

    seconds: defaultdict[str, list[float]] = field(default_factory=_lists)
    statuses: Counter[tuple[str, int]] = field(default_factory=Counter)
    refused: list[str] = field(default_factory=list)

    def note(self, kind: str, answer: Answer, seconds: float, allowed: tuple[int, ...]) -> None:
        self.seconds[kind].append(seconds)
        self.statuses[kind, answer.status] += 1
        if answer.status not in allowed:
            self.refused.append(f"{kind}: {answer.status} {answer.body[:300]!r} after {seconds:.1f} s")

    def p99(self, kind: str = "") -> float:
        """In seconds, of one kind of call or of all."""
        every = self.seconds[kind] if kind else [took for second in self.seconds.values() for took in second]
        ordered = sorted(every)
        return ordered[min(len(ordered) - 1, int(len(ordered) * 0.99))] if ordered else 0.0


def put(caller: Caller, path: str, body: dict[str, Any]) -> Answer:
    """Change it, or publish it if it is new."""
    answer = caller("PUT", path, body, If_Match="*")
    return caller("PUT", path, body) if answer.status == 412 else answer


Step = Callable[[Caller, int], tuple[str, Answer]]


class Worker(threading.Thread):
    """Repeats a step until it is stopped; `pause` seconds between two."""

    def __init__(
        self,
        caller: Caller,
        step: Step,
        records: Records,
        stopping: threading.Event,
        *,
        pause: float = 0.0,
        allowed: tuple[int, ...] = (),
    ) -> None:
        super().__init__(daemon=True)
        self.caller, self.step, self.records, self.stopping = caller, step, records, stopping
        self.pause, self.allowed = pause, allowed

    def run(self) -> None:
        number = 0
        while not self.stopping.is_set():
            began = time.monotonic()
            kind, answer = self.step(self.caller, number)
            self.records.note(kind, answer, time.monotonic() - began, self.allowed)
            number += 1
            self.stopping.wait(self.pause)


@contextmanager
def working(workers: list[Worker], stopping: threading.Event) -> Iterator[None]:
    for worker in workers:
        worker.start()
    try:
        yield
    finally:
        stopping.set()
        for worker in workers:
            worker.join(PATIENCE + 10)


def patterns(caller: Caller, number: int) -> tuple[str, Answer]:
    body = {"attributes": {"name": _VICTIM + "a" * (number % 7) + "!"}}
    return "patterns", put(caller, "overrides/trap?project=bad&domain=development", body)


def sizes(caller: Caller, number: int) -> tuple[str, Answer]:
    filling = "x" * (8000 + number % 100)
    body = {"text": crowd("bad", 100, filling=filling)}
    return "sizes", put(caller, f"agent-configs/bad/size{number % 30}", body)


def churn(caller: Caller, number: int) -> tuple[str, Answer]:
    document = number % 60
    return "churn", put(caller, f"agent-configs/bad/churn{document}", {"text": text("bad", document, number)})


def deletions(caller: Caller, number: int) -> tuple[str, Answer]:
    """Publish sixty agents, and delete them."""
    if number % 2:
        return "deletions", caller("DELETE", "agent-configs/bad/crowd", If_Match="*")
    return "deletions", put(caller, "agent-configs/bad/crowd", {"text": crowd("bad", 60)})


def endpoints(caller: Caller, number: int) -> tuple[str, Answer]:
    """Claim the neighbour's names and endpoints, with other settings."""
    victim = f"good{number % DOCUMENTS}-0.good.svc.cluster.local:8000"
    changed_text = text("good", number % DOCUMENTS, 0).replace("insecure: true", "insecure: false")
    body = changed_text if number % 2 else crowd("bad", 20, endpoint=victim)
    return "endpoints", put(caller, f"agent-configs/bad/thief{number % 7}", {"text": body})


def logins(caller: Caller, number: int) -> tuple[str, Answer]:
    """Guess a password under ever another spelling of one name."""
    wide = "".join(chr(ord(letter) + 0xFEE0) if letter.isalpha() else letter for letter in "good-person")
    name = (" " * (number % 50)) + (wide if number % 2 else "good-person")
    page = caller("GET", "/login")
    cookie = next((value for name_, value in page.headers.items() if name_.lower() == "set-cookie"), "")
    secret = cookie.partition("=")[2].partition(";")[0]
    named = cookie.partition(";")[0]
    form = urlencode({"username": name, "password": f"guess {number}", "csrfmiddlewaretoken": secret})
    return "logins", caller(
        "POST", "/login", form, Cookie=named, Content_Type="application/x-www-form-urlencoded"
    )


MALICE: tuple[Step, ...] = (patterns, sizes, churn, deletions, endpoints, logins)


def misbehave(port: int, token: str, seconds: float, steps: tuple[Step, ...]) -> Records:
    """Do all of it at once for so long, in a process of its own with low priority."""
    context = multiprocessing.get_context("spawn")
    results: Any = context.Queue()
    process = context.Process(target=_misbehave, args=(port, token, seconds, steps, results))
    process.start()
    try:
        return results.get(timeout=seconds + 2 * PATIENCE)  # type: ignore[no-any-return]
    finally:
        process.join(PATIENCE)


def _misbehave(port: int, token: str, seconds: float, steps: tuple[Step, ...], results: Any) -> None:
    os.nice(_NICENESS)
    records, stopping = Records(), threading.Event()
    # A login is a flood only if several come at once.
    every = [*steps, *[step for step in steps if step is logins] * 3]
    with working([Worker(Caller(port, token), step, records, stopping) for step in every], stopping):
        time.sleep(seconds)
    results.put(records)
