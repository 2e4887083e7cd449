"""Ten patterns that stop a backtracking engine, played against a running server while a neighbour works."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

# A pattern, and a value that takes a backtracking engine from minutes to ages.
CATASTROPHIC = [
    (r"^(a+)+$", "a" * 40 + "!"),
    (r"^(a*)*$", "a" * 40 + "!"),
    (r"^(a|aa)+$", "a" * 60 + "!"),
    (r"^(a|a?)+$", "a" * 40 + "!"),
    (r"^(.*a){25}$", "a" * 60 + "!"),
    (r"^([a-zA-Z]+)*$", "a" * 40 + "!"),
    (r"(x+x+)+y", "x" * 60),
    (r"^(\d+,?)+;$", "1" * 50),
    (r"^([A-Z0-9]+[-_]?)+@$", "A" * 50),
    (r"^(([a-z])+.)+[A-Z]([a-z])+$", "a" * 60),
]


@dataclass
class Caller:
    """One connection; keeps status, path and seconds of each answer. No answer in time is an error."""

    port: int
    token: str
    timeout: float = 10
    answers: list[tuple[int, str, float]] = field(default_factory=list)

    def __call__(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        began = time.monotonic()
        try:
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        finally:
            connection.close()
        self.answers.append((answer.status, path, time.monotonic() - began))
        return answer.status, json.loads(text) if text.startswith(b"{") else text


@contextmanager
def working(neighbour: Caller, calls: list[tuple[str, str, Any]]) -> Iterator[None]:
    """Repeat the calls meanwhile. Raises what the neighbour met."""
    stopped = threading.Event()
    problems: list[BaseException] = []

    def work() -> None:
        try:
            while not stopped.wait(0.01):
                for call in calls:
                    neighbour(*call)
        except Exception as error:
            problems.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()
    if problems:
        raise problems[0]


def play(attacker: Caller) -> None:
    """For each pattern, define a type that has it twice, and write a value that is hard to refuse."""
    for number, (pattern, value) in enumerate(CATASTROPHIC):
        schema = {
            "type": "object",
            "properties": {"?": {"type": "string", "pattern": pattern}},
            "patternProperties": {pattern: {"type": "null"}},
            "additionalProperties": {"type": "integer"},
        }
        definition = {"name": f"hostile_{number}", "strategy": "merge", "schema": schema}
        status, defined = attacker("POST", "/api/v1/resource-types", definition)
        assert status == 201, defined
        path = f"/api/v1/overrides/hostile_{number}?project=flytesnacks"
        status, refused = attacker("PUT", path, {"attributes": {"?": value, value: "x"}})
        assert status == 422, refused
        pointers = {error["pointer"] for error in refused["errors"]}
        assert pointers == {"/attributes/?", f"/attributes/{value}"}, refused
