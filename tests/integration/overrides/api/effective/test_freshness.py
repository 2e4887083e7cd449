"""Real web processes: what was acknowledged is seen by every one of them, at once.

Each connection stays with the process that accepted it. There are enough of them to reach both: the
kernel deals them out by a hash, so that the chance of missing one is 1 in 30,000.
"""

from __future__ import annotations

import http.client
import json
import threading
import time

import pytest
from django.utils import timezone

from controlplane.access.models import RoleBinding, Token
from tests.support.api_client import Api, make_project, token_for

CONNECTIONS = 16
ROUNDS = 150
READ = "/api/v1/overrides/effective?project=flytesnacks&domain=development&resource_type=task_resource"


@pytest.fixture
def readers(live):
    """Connections to all processes, which have other requests to answer meanwhile."""
    make_project()
    end = threading.Event()
    traffic = [threading.Thread(target=read_on, args=(live.port, token_for("viewer"), end)) for _ in range(4)]
    for thread in traffic:
        thread.start()
    opened = [http.client.HTTPConnection("127.0.0.1", live.port, timeout=10) for _ in range(CONNECTIONS)]
    yield opened
    end.set()
    for thread in traffic:
        thread.join()
    for connection in opened:
        connection.close()


def read_on(port, secret, end):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    while not end.is_set():
        ask(connection, secret)
        time.sleep(0.001)
    connection.close()


def ask(connection, secret, method="GET", path=READ, body=None, **headers):
    all_headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json", **headers}
    connection.request(method, path, None if body is None else json.dumps(body), all_headers)
    answer = connection.getresponse()
    text = answer.read()
    return answer.status, json.loads(text) if text else None, answer.headers


@pytest.mark.parametrize("query", ["project=flytesnacks&domain=development", ""])
def test_every_process_shows_a_write_that_another_has_acknowledged(readers, query):
    secret = token_for("admin")
    etag: dict[str, str] = {}
    for number in range(1, ROUNDS):
        status, _, headers = ask(
            readers[number % CONNECTIONS],
            secret,
            "PUT",
            f"/api/v1/overrides/task_resource?{query}",
            {"attributes": {"limits": {"cpu": str(number)}}},
            **etag,
        )
        assert status in (200, 201)
        etag = {"If-Match": headers["ETag"]}

        cpus = {
            reader[1]["items"][0]["attributes"]["limits"]["cpu"]
            for reader in (ask(reader, secret) for reader in readers)
        }

        assert cpus == {str(number)}


def test_no_process_serves_a_token_that_was_revoked(readers):
    Api(token_for("admin")).put("overrides/task_resource", {"attributes": {"limits": {"cpu": "1"}}})
    for _ in range(20):
        secret = token_for("viewer")
        for _ in range(2):
            assert {ask(reader, secret)[0] for reader in readers} == {200}

        Token.objects.update(revoked_at=timezone.now())

        assert {ask(reader, secret)[0] for reader in readers} == {401}


def test_no_process_serves_a_principal_whose_role_was_taken(readers):
    for _ in range(20):
        secret = token_for("viewer")
        for _ in range(2):
            assert {ask(reader, secret)[0] for reader in readers} == {200}

        RoleBinding.objects.all().delete()

        assert {ask(reader, secret)[0] for reader in readers} == {403}
