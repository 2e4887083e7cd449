"""What only a real server and real sockets show: bodies without a length, figures of all processes."""

from __future__ import annotations

import http.client
import json
import socket

import pytest

from controlplane.access.models import AuditRecord
from overrides.models import Override
from registry.agents.models import Agent
from tests.support.api_client import Api, make_project, token_for

GOOD = json.dumps({"attributes": {"limits": {"cpu": "1"}}}).encode()


@pytest.fixture
def send(live):
    token = token_for("admin")

    def send(method, path, body=None, *, chunked=False, **headers):
        connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=10)
        all_headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json", **headers}
        pieces = [body[i : i + 65536] for i in range(0, len(body), 65536)] if chunked else body
        try:
            connection.request(method, path, pieces, all_headers, encode_chunked=chunked)
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    return send


def test_a_body_that_comes_in_chunks_is_read_like_any_other(send):
    status, body = send("PUT", "/api/v1/overrides/task_resource", GOOD, chunked=True)

    assert (status, json.loads(body)["attributes"]) == (201, {"limits": {"cpu": "1"}})


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_that_is_too_large_is_refused_however_it_comes(send, chunked):
    large = b'{"attributes": {"a": "' + b"x" * 2 * 1024 * 1024 + b'"}}'

    status, body = send("PUT", "/api/v1/overrides/task_resource", large, chunked=chunked)

    assert (status, json.loads(body)["code"]) == (413, "body_too_large")


def test_figures_are_summed_over_all_processes(send):
    for _ in range(20):
        send("GET", "/api/v1/event-types")

    status, body = send("GET", "/metrics")

    line = next(
        line
        for line in body.decode().splitlines()
        if line.startswith("cp_http_requests_total")
        and 'route="api/v1/event-types"' in line
        and "2xx" in line
    )
    assert status == 200
    assert float(line.rpartition(" ")[2]) >= 20
    assert 'cp_agents{state="ready"} 0.0' in body.decode()


def test_figures_are_not_for_everybody(live):
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=10)
    connection.request("GET", "/metrics")

    assert connection.getresponse().status == 401


def test_a_ready_answer_looks_like_djangos_on_the_wire(live):
    make_project()
    headers = {"Authorization": f"Bearer {token_for('viewer')}", "X-Request-ID": "r-1"}
    path = "/api/v1/overrides/effective?project=flytesnacks"

    def exchange(method, path, **more):
        connection.request(method, path, headers={**headers, **more})
        answer = connection.getresponse()
        # What each request uses of its limit is different, and only Django's are counted.
        own = ("date", "ratelimit", "ratelimit-policy")
        getheaders = {name.lower(): value for name, value in answer.getheaders() if name.lower() not in own}
        getheaders["content-security-policy"] = sorted(getheaders["content-security-policy"].split("; "))
        return answer.status, getheaders, answer.read()

    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=10)
    for method in ("GET", "HEAD"):
        for more in ({}, {"If-None-Match": exchange("GET", path)[1]["etag"]}):
            for _ in range(3):
                exchange(method, path, **more)
            # A strategy that is named goes to Django, and is the one that holds anyway.
            django = exchange(method, f"{path}&strategy=native", **more)
            assert exchange(method, path, **more) == django


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/startupz", "/readyz?verbose&exclude=nats"])
def test_health_needs_no_token_and_no_host_of_ours(live, path):
    connection = http.client.HTTPConnection("127.0.0.1", live.port, timeout=10)
    # As a probe asks: by the address of a pod, which is in no ALLOWED_HOSTS.
    connection.request("GET", path, headers={"Host": "10.1.2.3:8000"})

    assert connection.getresponse().status == 200


CHUNKED = b"Transfer-Encoding: chunked\r\n\r\n"
INCOMPLETE = {
    "shorter than announced": b"Content-Length: 1000\r\n\r\n" + GOOD,
    "no chunk of length 0": CHUNKED + b"%x\r\n%s\r\n" % (len(GOOD), GOOD),
    "ends within a chunk": CHUNKED + b"%x\r\n%s" % (len(GOOD) + 9, GOOD),
    "a length that is no number": CHUNKED + b"%x\r\n%s\r\nzz\r\n" % (len(GOOD), GOOD),
    "no number at all": CHUNKED + b"zz\r\n%s\r\n0\r\n\r\n" % GOOD,
    "a negative length": CHUNKED + b"-5\r\n%s\r\n0\r\n\r\n" % GOOD,
    "a length beyond 64 bits": CHUNKED + b"fffffffffffffffff\r\n%s\r\n0\r\n\r\n" % GOOD,
    "no line end after a chunk": CHUNKED + b"%x\r\n%sX0\r\n\r\n" % (len(GOOD), GOOD),
    "nothing": CHUNKED,
}
ENDPOINTS = {
    "native": ("PUT", "/api/v1/overrides/task_resource?domain=staging", "code"),
    "YAML": ("POST", "/api/v1/overrides:apply", "code"),
    "Flyte": ("PUT", "/api/v1/project_domain_attributes/ads/staging", "message"),
    "heartbeat": ("PUT", "/api/v1/agents/01a0a000-0000-7000-8000-000000000000/heartbeat", "code"),
    "password": ("POST", "/api/v1/me:change-password", "code"),
    "join": ("POST", "/api/v1/agents:join", "code"),
}


def send_raw(port: int, request: bytes) -> tuple[int, bytes]:
    """Send these bytes and nothing more; return status and body of the answer."""
    with socket.create_connection(("127.0.0.1", port), 10) as connection:
        connection.sendall(request)
        connection.shutdown(socket.SHUT_WR)
        answer = http.client.HTTPResponse(connection)
        answer.begin()
        return answer.status, answer.read()


@pytest.mark.parametrize("name", ENDPOINTS)
def test_a_body_that_did_not_arrive_whole_is_refused_and_changes_nothing(live, name):
    method, path, member = ENDPOINTS[name]
    token = token_for("admin")
    if name == "join":
        token = Api(token).post("join-tokens", {"name": "fleet", "name_pattern": "a*"}).json()["token"]
    kind = "application/yaml" if name == "YAML" else "application/json"
    head = f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n"
    head += f"Content-Type: {kind}\r\n"
    audited = AuditRecord.objects.count()

    for what, rest in INCOMPLETE.items():
        status, body = send_raw(live.port, head.encode() + rest)

        assert status == 400, (what, body)
        assert "shorter than its Content-Length" in body.decode(), what
        assert json.loads(body)[member]
    # A refused join is noted, once for each reason.
    assert AuditRecord.objects.count() == audited + (name == "join")
    assert not Override.objects.exists()
    assert not Agent.objects.exists()


def test_who_sends_half_a_body_without_a_token_learns_nothing_else(live):
    request = b"PUT /api/v1/overrides/task_resource HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{"

    status, body = send_raw(live.port, request)

    assert (status, json.loads(body)["code"]) == (401, "not_authenticated")
