"""Many requests at once on one connection: order of answers, fairness, bounded memory."""

from __future__ import annotations

import asyncio
import json
import socket

import pytest
import uvicorn

from controlplane.serving.worker import open_socket
from controlplane.web.exchange import FastAnswer
from controlplane.web.fast_protocol import FastProtocol
from controlplane.web.learned_headers import Learned
from controlplane.web.pipelining import MOST_HELD_BYTES
from tests.support.raw_answers import answers_of

# What uvloop and asyncio read at once, and more than the high-water mark of what is not sent yet.
READ_BYTES, UNSENT_BYTES = 256 * 1024, 32 * 1024
NOTHING_LEARNED = Learned((), b"")


class Fast:
    """A fast path that answers with the request, at once or in a later turn of the event loop."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self.filling, self.is_later = b"", False

    def take(self, raw):
        return raw

    def begin(self, exchange):
        self.began.append(exchange.raw.path)
        if self.is_later:
            asyncio.get_running_loop().call_soon(self.answer, exchange)
        else:
            self.answer(exchange)

    def answer(self, exchange):
        content = json.dumps([exchange.raw.path, exchange.body.decode()]).encode() + self.filling
        exchange.answer(
            FastAnswer(200, content, [(b"content-length", b"%d" % len(content))]), NOTHING_LEARNED
        )


class Application:
    """Paths that begin with /fast have a fast path. Others are ordinary and answer the same."""

    def __init__(self) -> None:
        self.fast = Fast()
        self.ordinary_count = 0

    def fast_path(self, path):
        return self.fast if path.startswith("/fast") else None

    async def __call__(self, scope, receive, send):
        self.ordinary_count += 1
        body, more = b"", True
        while more:
            message = await receive()
            body, more = body + message.get("body", b""), message.get("more_body", False)
        content = json.dumps([scope["path"], body.decode()]).encode()
        headers = [(b"content-length", b"%d" % len(content))]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": content})


class Served:
    async def start(self):
        self.application = Application()
        config = uvicorn.Config(
            self.application,
            http=FastProtocol,
            lifespan="off",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            ws="none",
        )
        self.server = uvicorn.Server(config)
        config.load()
        self.server.lifespan = config.lifespan_class(config)
        listener = open_socket("127.0.0.1", 0)
        self.port = listener.getsockname()[1]
        await self.server.startup([listener])
        return self

    def connections(self):
        return list(self.server.server_state.connections)

    async def converse(self, *pieces):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        for piece in pieces:
            writer.write(piece)
            await asyncio.sleep(0)
        return answers_of(await reader.read())


def with_server(test):
    async def run():
        served = await Served().start()
        try:
            await asyncio.wait_for(test(served), 60)
        finally:
            for connection in served.connections():
                connection.transport.abort()
            for server in served.server.servers:
                server.close()

    asyncio.run(run())


def get(path, *lines):
    return b"\r\n".join([b"GET /%s HTTP/1.1" % path.encode(), b"Host: h", *lines, b"", b""])


def post(path, body, *, chunked=False):
    if chunked:
        lines, body = [b"Transfer-Encoding: chunked"], b"%x\r\n%s\r\n0\r\nX-T: 1\r\n\r\n" % (len(body), body)
    else:
        lines = [b"content-length: %d" % len(body)]
    return get(path, *lines).replace(b"GET", b"POST", 1) + body


def mixture(count):
    """Requests of all kinds, with bodies that look like requests, and what is answered to them."""
    kinds = ("fast", "ordinary")
    requests, contents = [], []
    for number in range(count):
        path, body = f"{kinds[number % 2]}/{number}", get(f"smuggled/{number}")
        match number // 2 % 3:
            case 0:
                requests.append(get(path))
                body = b""
            case 1:
                requests.append(post(path, body))
            case 2:
                requests.append(post(path, body, chunked=True))
        contents.append([f"/{path}", body.decode()])
    requests.append(get("last", b"Connection: close"))
    return requests, [*contents, ["/last", ""]]


@pytest.mark.parametrize("is_later", [False, True])
def test_answers_leave_in_the_order_of_requests(is_later):
    requests, contents = mixture(300)

    async def test(served):
        served.application.fast.is_later = is_later

        assert [content for _, _, content in await served.converse(b"".join(requests))] == contents

    with_server(test)


def test_requests_are_the_same_wherever_a_read_ends():
    requests, contents = mixture(12)
    data = b"".join(requests)

    async def test(served):
        for at in range(1, len(data), 11):
            answers = await served.converse(data[:at], data[at:])

            assert [content for _, _, content in answers] == contents, at

    with_server(test)


@pytest.mark.parametrize("is_later", [False, True])
def test_others_are_answered_before_a_backlog(is_later):
    async def test(served):
        fast = served.application.fast
        fast.is_later = is_later
        answers, flooder = await asyncio.open_connection("127.0.0.1", served.port)
        reading = asyncio.create_task(answers.read())
        reader, other = await asyncio.open_connection("127.0.0.1", served.port)
        flooder.write(get("fast/flood") * 2000)
        while not fast.began:
            await asyncio.sleep(0)

        for number in range(20):
            other.write(get(f"fast/other{number}"))
            await reader.readuntil(b'""]')

        # What the flooder has at once, and a few while the other waits.
        assert fast.began.count("/fast/flood") < 500

        while len(fast.began) < 2020:
            await asyncio.sleep(0)
        reading.cancel()

    with_server(test)


def test_a_client_that_does_not_read_is_answered_no_further():
    async def test(served):
        fast, loop = served.application.fast, asyncio.get_running_loop()
        fast.filling = b" " * 1000
        client = socket.socket()
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.setblocking(False)
        await loop.sock_connect(client, ("127.0.0.1", served.port))
        count = 1000
        data = b"".join(get(f"fast/{number:04}") for number in range(count)) + get("x", b"Connection: close")
        sending = asyncio.create_task(loop.sock_sendall(client, data))
        began = -1
        while began < len(fast.began):
            began = len(fast.began)
            await asyncio.sleep(0.1)
        [connection] = served.connections()

        assert began < 300
        assert connection.flow.write_paused
        assert not connection.pipeline
        assert not served.application.ordinary_count
        assert len(connection.flow.held) <= READ_BYTES + MOST_HELD_BYTES
        assert connection.transport.get_write_buffer_size() <= UNSENT_BYTES

        received = bytearray()
        while piece := await loop.sock_recv(client, 65536):
            received += piece
        await sending
        paths = [content[0] for _, _, content in answers_of(bytes(received))]
        assert paths == [*(f"/fast/{number:04}" for number in range(count)), "/x"]

    with_server(test)


def test_what_is_held_is_dropped_with_its_connection():
    async def test(served):
        served.application.fast.is_later = True
        _, writer = await asyncio.open_connection("127.0.0.1", served.port)
        writer.write(get("fast") * 2000)
        while not served.application.fast.began:
            await asyncio.sleep(0)
        [connection] = served.connections()
        assert connection.flow.held

        writer.transport.abort()
        while served.connections():
            await asyncio.sleep(0)

        assert not connection.flow.held
        assert len(served.application.fast.began) < 2000

    with_server(test)
