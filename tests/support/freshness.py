"""Asks all web processes at once whether they show what was acknowledged.

Each connection stays with the process that accepted it. There are enough of them to reach both: the
kernel deals them out by a hash, so that the chance of missing one is 1 in 30,000.
"""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.utils import timezone

from controlplane.access.models import RoleBinding, Token
from tests.support.api_client import make_project, token_for

CONNECTIONS = 16
READ = "/api/v1/overrides/effective?project=flytesnacks&domain=development&resource_type=task_resource"
Connection = http.client.HTTPConnection


@contextmanager
def connected(port: int) -> Iterator[list[Connection]]:
    """Connections to all processes, which have other requests to answer meanwhile."""
    make_project()
    end = threading.Event()
    traffic = [threading.Thread(target=read_on, args=(port, token_for("viewer"), end)) for _ in range(4)]
    for thread in traffic:
        thread.start()
    opened = [Connection("127.0.0.1", port, timeout=10) for _ in range(CONNECTIONS)]
    try:
        yield opened
    finally:
        end.set()
        for thread in traffic:
            thread.join()
        for connection in opened:
            connection.close()


def read_on(port: int, secret: str, end: threading.Event) -> None:
    connection = Connection("127.0.0.1", port, timeout=10)
    while not end.is_set():
        ask(connection, secret)
        time.sleep(0.001)
    connection.close()


def ask(
    connection: Connection,
    secret: str,
    method: str = "GET",
    path: str = READ,
    body: Any = None,
    **headers: str,
) -> tuple[int, Any, Any]:
    all_headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json", **headers}
    connection.request(method, path, None if body is None else json.dumps(body), all_headers)
    answer = connection.getresponse()
    text = answer.read()
    return answer.status, json.loads(text) if text else None, answer.headers


def write_and_read(readers: list[Connection], query: str, rounds: int) -> None:
    """What one process acknowledged, each of them shows in the next answer."""
    secret = token_for("admin")
    path = f"/api/v1/overrides/task_resource?{query}"
    etag: dict[str, str] = {}
    for number in range(1, rounds + 1):
        body = {"attributes": {"limits": {"cpu": str(number)}}}
        status, _, headers = ask(readers[number % CONNECTIONS], secret, "PUT", path, body, **etag)
        assert status in (200, 201)
        etag = {"If-Match": headers["ETag"]}

        answers = [ask(reader, secret)[1] for reader in readers]

        assert {answer["items"][0]["attributes"]["limits"]["cpu"] for answer in answers} == {str(number)}


def revoke_and_read(readers: list[Connection], rounds: int) -> None:
    """No process serves a token after it was revoked."""
    for _ in range(rounds):
        secret = token_for("viewer")
        for _ in range(2):
            assert {ask(reader, secret)[0] for reader in readers} == {200}

        Token.objects.update(revoked_at=timezone.now())

        assert {ask(reader, secret)[0] for reader in readers} == {401}


def take_role_and_read(readers: list[Connection], rounds: int) -> None:
    """No process serves a principal after its role was taken."""
    for _ in range(rounds):
        secret = token_for("viewer")
        for _ in range(2):
            assert {ask(reader, secret)[0] for reader in readers} == {200}

        RoleBinding.objects.all().delete()

        assert {ask(reader, secret)[0] for reader in readers} == {403}
