"""Never stale: a writer commits n, then a read on every connection must show n, while others read on."""

from __future__ import annotations

import http.client
import json
from typing import Any

from benchmarks.load import Load, Running
from benchmarks.machine import CLIENT_CPUS

_CONNECTIONS = 24
_TYPE = "execution_cluster_label"


def stale_reads(port: int, token: str, *, rounds: int, traffic: list[bytes]) -> tuple[int, int]:
    """Return how many reads were made, and how many showed less than what had been acknowledged."""
    # At the project and domain: it covers the workflow that is read, where this type is not set.
    scope = "project=p0&domain=development"
    background = Running(
        Load(port, traffic, connections=32, seconds=max(2.0, rounds * 0.05), warm_up=0.0, cpus=CLIENT_CPUS)
    )
    readers = [http.client.HTTPConnection("127.0.0.1", port, timeout=10) for _ in range(_CONNECTIONS)]
    reads = stale = 0
    for number in range(rounds):
        path = f"/api/v1/overrides/{_TYPE}?{scope}"
        etag = _ask(readers[0], token, "GET", path)[1]
        _ask(
            readers[number % _CONNECTIONS], token, "PUT", path, attributes={"value": f"n{number}"}, etag=etag
        )
        for reader in readers:
            _, _, shown_at = _ask(
                reader, token, "GET", f"/api/v1/overrides/effective?{scope}&workflow=w2&resource_type={_TYPE}"
            )
            reads += 1
            stale += shown_at["items"][0]["attributes"]["value"] != f"n{number}"
    background.result()
    return reads, stale


def _ask(
    connection: http.client.HTTPConnection,
    token: str,
    method: str,
    path: str,
    *,
    attributes: object = None,
    etag: str = "",
) -> tuple[int, str, Any]:
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    if etag:
        headers["If-Match"] = etag
    body = None if attributes is None else json.dumps({"attributes": attributes})
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 400:
        raise RuntimeError(f"{method} {path}: {answer.status} {text[:300]!r}")
    return answer.status, answer.headers["ETag"], json.loads(text)
