"""Our HTTP protocol with a small application: order of responses, limits, clients that go away."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest
import uvicorn

from controlplane.web.connection_limits import ConnectionLimits, Limits
from controlplane.web.fast_protocol import FastProtocol
from tests.support.raw_answers import answers_of, statuses_of

GET = b"GET /%s HTTP/1.1\r\nHost: h\r\n\r\n"
BAD = b"BROKEN\r\n\r\n"
LARGE = b"GET / HTTP/1.1\r\nHost: h\r\nX: " + b"x" * 17_000 + b"\r\n\r\n"


class Application:
    """/wait answers once `gate` is set; others at once, with the headers that arrived."""

    def __init__(self) -> None:
        self.gate, self.disconnected, self.waiting = asyncio.Event(), asyncio.Event(), asyncio.Event()

    async def __call__(self, scope, receive, send):
        body = b""
        message = {"more_body": True}
        while message.get("more_body"):
            message = await receive()
            body += message.get("body", b"")
        status = 400 if message["type"] == "http.disconnect" else 200
        if scope["path"] == "/wait":
            self.waiting.set()
            await self.gate.wait()
        if scope["path"] == "/stay":
            self.waiting.set()
            assert (await receive())["type"] == "http.disconnect"
            self.disconnected.set()
            return
        content = json.dumps([scope["path"], sorted(name.decode() for name, _ in scope["headers"])]).encode()
        headers = [(b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": content})


class Served:
    async def start(self, limits=None):
        self.application = Application()
        config = uvicorn.Config(
            self.application, http=FastProtocol, lifespan="off", log_config=None, ws="none"
        )
        self.server = uvicorn.Server(config)
        config.load()
        self.server.lifespan = config.lifespan_class(config)
        state, loop = self.server.server_state, asyncio.get_running_loop()
        if limits:
            ConnectionLimits._of_servers[state] = ConnectionLimits(state.connections, loop, limits)
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        self.port = listener.getsockname()[1]
        await self.server.startup([listener])
        return self

    async def connect(self):
        return await asyncio.open_connection("127.0.0.1", self.port)

    async def stop(self):
        self.application.gate.set()
        for connection in list(self.server.server_state.connections):
            connection.transport.abort()
        for server in self.server.servers:
            server.close()


def with_server(test, limits=None):
    async def run():
        served = await Served().start(limits)
        try:
            await asyncio.wait_for(test(served), 20)
        finally:
            await served.stop()

    asyncio.run(run())


@pytest.mark.parametrize(
    "invalid", [BAD, LARGE, GET % b" HTTP/9", b"GET http:// HTTP/1.1\r\nHost: h\r\n\r\n"]
)
@pytest.mark.parametrize("owed", [0, 1, 3])
def test_a_refusal_comes_after_the_responses_that_are_owed(invalid, owed):
    async def test(served):
        reader, writer = await served.connect()
        writer.write(GET % b"wait" * owed + invalid)
        if owed:
            await served.application.waiting.wait()
            served.application.gate.set()

        answers = answers_of(await reader.read())

        assert statuses_of(answers) == [200] * owed + [431 if invalid is LARGE else 400]
        assert answers[-1][2]["code"] in ("bad_request", "request_header_fields_too_large")

    with_server(test)


def test_a_bad_target_on_a_connection_that_was_used_before_is_answered():
    async def test(served):
        reader, writer = await served.connect()
        writer.write(GET % b"a")
        await reader.readuntil(b"]]")
        writer.write(b"GET http:// HTTP/1.1\r\nHost: h\r\n\r\n")

        assert statuses_of(answers_of(await reader.read())) == [400]

    with_server(test)


LENGTH, CHUNK = b"Content-Length: 9\r\n\r\nabc", b"Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n"


@pytest.mark.parametrize(
    ("sent", "is_closed", "owed"),
    [(LENGTH, True, 0), (CHUNK, True, 0), (CHUNK + GET % b"", False, 0), (CHUNK + GET % b"", False, 2)],
)
def test_half_a_body_is_refused_after_what_is_owed_and_what_follows_is_not_answered(sent, is_closed, owed):
    async def test(served):
        reader, writer = await served.connect()
        writer.write(GET % b"wait" * owed + b"PUT / HTTP/1.1\r\nHost: h\r\n" + sent)
        if is_closed:
            writer.write_eof()
        elif owed:
            await served.application.waiting.wait()
        served.application.gate.set()
        assert statuses_of(answers_of(await reader.read())) == [200] * owed + [400]

    with_server(test)


def test_trailers_are_no_headers():
    async def test(served):
        reader, writer = await served.connect()
        chunks = b"1\r\nx\r\n0\r\nAuthorization: Bearer x\r\n\r\n"
        head = b"POST /a HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n"
        writer.write(head + chunks)

        [(_, _, content)] = answers_of(await reader.read())

        assert content == ["/a", ["connection", "host", "transfer-encoding"]]

    with_server(test)


def test_who_sends_faster_than_it_is_answered_is_not_read():
    async def test(served):
        _, writer = await served.connect()
        writer.write(GET % b"wait" * 100_000)
        await served.application.waiting.wait()
        [connection] = served.server.server_state.connections
        await asyncio.sleep(0.2)

        assert connection.flow.read_paused
        assert len(connection.pipeline) < 20_000

    with_server(test)


def test_an_earlier_request_learns_that_its_client_is_gone():
    async def test(served):
        _, writer = await served.connect()
        writer.write(GET % b"stay" + GET % b"a")
        await served.application.waiting.wait()
        writer.transport.abort()

        await served.application.disconnected.wait()

    with_server(test)


LATE_BODY = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 9\r\n\r\nx"


@pytest.mark.parametrize(("sent", "statuses"), [(b"GET / HT", [408]), (LATE_BODY, [408]), (b"", [])])
def test_what_does_not_arrive_in_time_is_refused(sent, statuses):
    async def test(served):
        reader, writer = await served.connect()
        writer.write(sent)

        assert statuses_of(answers_of(await reader.read())) == statuses

    with_server(test, Limits(idle=0.5, head=0.5, body=0.5))


def test_endless_trailers_are_refused():
    async def test(served):
        reader, writer = await served.connect()
        writer.write(b"POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\nX: ")
        # Small pieces, and no more than the limit by much: a reset would discard the response.
        for _ in range(6):
            writer.write(b"x" * 16_000)
            await asyncio.sleep(0.02)

        assert statuses_of(answers_of(await reader.read())) == [400]

    with_server(test)
