"""The bridge in a real server: what the application sees is what granian's own WSGI interface shows it."""

from __future__ import annotations

import json
import os
import socket
import sys
from contextlib import suppress

import pytest

from controlplane.local.programs import Program, free_port, start, stop_all
from tests.conftest import ROOT
from tests.support import environ_echo
from tests.support.waiting import until

BIG = b"x" * 300_000
CHUNKS = b"12\r\n" + b"x" * 0x12 + b"\r\n3\r\nabc\r\n0\r\n\r\n"
REQUESTS = {
    "plain": b"GET /a/b?x=1&y=%20+ HTTP/1.1\r\nHost: h:80\r\n\r\n",
    "percent": b"GET /a%2Fb/%C3%A9/%FF/%zz/%00?x=%FF HTTP/1.1\r\nHost: h\r\n\r\n",
    "two slashes": b"GET //evil//x/ HTTP/1.1\r\nHost: h\r\n\r\n",
    "absolute": b"GET http://evil/x?q HTTP/1.1\r\nHost: h\r\n\r\n",
    "star": b"OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n",
    "joined": b"GET / HTTP/1.1\r\nHost: h\r\nX-A: 1\r\nX-A: 2\r\nCookie: a=1\r\nCookie: b=2\r\n\r\n",
    "two tokens": b"GET / HTTP/1.1\r\nHost: h\r\nAuthorization: a\r\nAuthorization: b\r\n\r\n",
    "not ASCII": b"GET / HTTP/1.1\r\nHost: h\r\nX-A: \xc3\xa9\xff\r\nX-Tab: a\tb\r\n\r\n",
    "odd method": b"PROPFIND /x HTTP/1.1\r\nHost: h\r\n\r\n",
    "HTTP/1.0": b"GET /old HTTP/1.0\r\nHost: h\r\n\r\n",
    "body": b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Type: a/b\r\nContent-Length: 5\r\n\r\nhello",
    "empty body": b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 0\r\n\r\n",
    "big body": b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: %d\r\n\r\n%s" % (len(BIG), BIG),
    "chunks": b"PUT /p HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n" + CHUNKS,
}
# granian says HTTP/1 for HTTP/1.0.
SERVERS_OWN = {"SERVER_PORT", "SERVER_PROTOCOL", "SERVER_SOFTWARE"}


@pytest.fixture(scope="module")
def ports(tmp_path_factory):
    """The same application, by interface."""
    folder, running, ports_found = tmp_path_factory.mktemp("echo"), [], {}
    commands = {
        "wsgi": ("granian", "--interface", "wsgi", "tests.support.environ_echo:application"),
        "asgi": ("controlplane.serving", "tests.support.environ_echo:bridged"),
    }
    for interface, (module, *words) in commands.items():
        ports_found[interface] = free_port()
        command = (sys.executable, "-m", module, *words)
        where = ("--port", str(ports_found[interface]))
        environment = {"PYTHONPATH": str(ROOT), "DJANGO_SETTINGS_MODULE": "controlplane.settings.test"}
        running.append(start(Program(interface, (*command, *where), folder / interface, environment)))
    for port in ports_found.values():
        wait_for_port(port)
    yield ports_found
    stop_all(running, patience=5)


def wait_for_port(port: int) -> None:
    def is_open() -> bool:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            return True
        return False

    until(is_open)


def exchange(port: int, request: bytes) -> tuple[bytes, bytes]:
    """Send a request; return head and body of the answer."""
    with socket.create_connection(("127.0.0.1", port), 5) as connection:
        return exchange_on(connection, request)


def exchange_on(connection: socket.socket, request: bytes) -> tuple[bytes, bytes]:
    connection.sendall(request)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += connection.recv(65536)
    head, _, body = answer.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += connection.recv(65536)
    return head, body


def environ_of(port: int, request: bytes) -> dict:
    document = json.loads(exchange(port, request)[1])
    # granian's WSGI adds the variables of the process: nothing of the request.
    document["environ"] = {
        name: value
        for name, value in document["environ"].items()
        if name not in SERVERS_OWN and name not in os.environ
    }
    return document


@pytest.mark.parametrize("name", REQUESTS)
def test_the_application_is_told_the_same(ports, name):
    ours, granians = (environ_of(ports[interface], REQUESTS[name]) for interface in ("asgi", "wsgi"))

    process_only = {name for name in granians["environ"] if name in ("PYTHONPATH", "DJANGO_SETTINGS_MODULE")}
    assert ours["environ"] == {k: v for k, v in granians["environ"].items() if k not in process_only}
    assert (ours["body"], ours["length"]) == (granians["body"], granians["length"])


def test_a_header_with_an_underscore_cannot_pass_for_another(ports):
    request = b"GET / HTTP/1.1\r\nHost: h\r\nX_Forwarded_Proto: https\r\n\r\n"

    assert "HTTP_X_FORWARDED_PROTO" not in environ_of(ports["asgi"], request)["environ"]


def test_a_connection_is_used_again(ports):
    with socket.create_connection(("127.0.0.1", ports["asgi"]), 5) as connection:
        for _ in range(3):
            head, body = exchange_on(connection, REQUESTS["body"])
            assert (head[:12], json.loads(body)["length"]) == (b"HTTP/1.1 200", 5)


def test_readers_of_a_stream_that_leave_give_their_threads_back(ports):
    for _ in range(3 * environ_echo.THREADS):
        with socket.create_connection(("127.0.0.1", ports["asgi"]), 5) as connection:
            connection.sendall(b"GET /endless HTTP/1.1\r\nHost: h\r\n\r\n")
            assert connection.recv(65536).startswith(b"HTTP/1.1 200")

    request = b"GET /closed HTTP/1.1\r\nHost: h\r\n\r\n"
    until(lambda: len(json.loads(exchange(ports["asgi"], request)[1])) >= 6)


def test_clients_that_leave_in_mid_body_do_no_harm(ports):
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", ports["asgi"]), 5) as connection:
            connection.sendall(b"POST /p HTTP/1.1\r\nHost: h\r\nContent-Length: 500000\r\n\r\n" + BIG)

    assert environ_of(ports["asgi"], REQUESTS["big body"])["length"] == len(BIG)
