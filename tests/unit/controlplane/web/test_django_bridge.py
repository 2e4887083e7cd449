"""The bridge: whole answers, streams, bodies of every size, clients that leave."""

from __future__ import annotations

import asyncio
import threading
import time

import pytest

from controlplane.web.django_bridge import Bridge
from tests.support.asgi_client import Answered, Worker, scope_of
from tests.support.waiting import until

LIMIT = 200_000


class Streamed:
    """What a WSGI application returns for a stream."""

    streaming = True

    def __init__(self, pieces):
        self.pieces = iter(pieces)
        self.closed = threading.Event()
        self.closed_by = ""

    def __iter__(self):
        return self.pieces

    def close(self):
        self.closed_by = threading.current_thread().name
        self.closed.set()


@pytest.fixture
def bridge():
    """A bridge around a WSGI application of the test's; stopped at the end."""
    workers = []

    def make(application, *, threads=2, queue=8):
        workers.append(Worker(lambda: Bridge(application, threads=threads, queue=queue, body_limit=LIMIT)))
        return workers[-1]

    yield make
    for worker in workers:
        worker.run(worker.application.close(5))
        worker.stop()


def answering(*pieces, status="200 OK", headers=(), seen=None):
    def application(environ, start_response):
        if seen is not None:
            seen.append((environ, environ["wsgi.input"].read()))
        start_response(status, list(headers))
        return list(pieces)

    return application


def test_status_headers_and_body_come_back(bridge):
    headers = [("Content-Type", "text/plain"), ("Set-Cookie", "a=1"), ("Set-Cookie", "b=2")]
    worker = bridge(answering(b"one", b"two", status="418 I'm a teapot", headers=headers))

    answer = worker.get("/")

    assert (answer.status, answer.body, len(answer.pieces)) == (418, b"onetwo", 1)
    assert answer.headers == [
        (b"content-type", b"text/plain"),
        (b"set-cookie", b"a=1"),
        (b"set-cookie", b"b=2"),
    ]


def test_the_body_comes_whole_however_it_is_cut(bridge):
    chunks_seen = []
    worker = bridge(answering(seen=chunks_seen))
    pieces = [b"a" * 70_000, b"", b"b" * 70_000]

    worker.run(worker.request(scope_of("POST", "/", {}), pieces))

    assert chunks_seen[0][1] == b"".join(pieces)


def test_no_more_of_a_body_is_kept_than_the_limit_and_one_byte(bridge):
    chunks_seen = []
    worker = bridge(answering(seen=chunks_seen))

    worker.run(worker.request(scope_of("POST", "/", {}), [b"x" * 90_000] * 5))

    assert len(chunks_seen[0][1]) == LIMIT + 1


def test_a_body_that_says_that_it_is_too_long_is_not_kept_at_all(bridge):
    chunks_seen = []
    worker = bridge(answering(seen=chunks_seen))
    scope = scope_of("POST", "/", {"Content-Length": "900000"})

    worker.run(worker.request(scope, [b"x" * 90_000] * 10))

    assert chunks_seen[0][1] == b""
    assert chunks_seen[0][0]["CONTENT_LENGTH"] == "900000"


def test_of_a_body_that_ends_early_the_application_reads_nothing_and_can_answer(bridge):
    contents, messages = [], []

    def application(environ, start_response):
        with pytest.raises(OSError, match="ended early"):
            contents.append(environ["wsgi.input"].read())
        start_response("400 Bad Request", [])
        return [b"no"]

    worker = bridge(application)
    received = [
        {"type": "http.request", "body": b"half", "more_body": True},
        {"type": "http.disconnect"},
    ]

    async def receive():
        return received.pop(0)

    async def send(message):
        messages.append(message)

    worker.run(worker.application(scope_of("POST", "/", {}), receive, send))

    assert contents == []
    assert messages[0]["status"] == 400


def test_large_bodies_wait_for_each_other_and_small_ones_do_not(bridge):
    release = threading.Event()
    path_infos = []

    def application(environ, start_response):
        path_infos.append(environ["PATH_INFO"])
        if environ["PATH_INFO"].startswith("/large"):
            release.wait(60)
        start_response("200 OK", [])
        return [b""]

    worker = bridge(application, threads=2)
    large = [
        asyncio.run_coroutine_threadsafe(
            worker.request(scope_of("POST", f"/large{n}", {}), [b"x" * 90_000, b"x" * 90_000]), worker.loop
        )
        for n in range(3)
    ]
    until(lambda: len(path_infos) == 2)

    assert worker.run(_free(worker.application._large_bodies)) is False
    release.set()

    assert [future.result(10).status for future in large] == [200, 200, 200]
    assert worker.get("/small").status == 200


async def _free(semaphore):
    return not semaphore.locked()


def test_an_error_of_the_application_is_raised_and_its_thread_is_free_again(bridge):
    def application(environ, start_response):
        if environ["PATH_INFO"] == "/bad":
            raise ValueError("planted")
        start_response("200 OK", [])
        return [b"good"]

    worker = bridge(application, threads=1, queue=1)

    for _ in range(3):
        with pytest.raises(ValueError, match="planted"):
            worker.get("/bad")

    assert worker.get("/good").body == b"good"


def test_a_stream_goes_out_piece_by_piece(bridge):
    more = threading.Event()

    def pieces():
        yield b"first"
        more.wait(60)
        yield b"second"

    streamed = Streamed(pieces())
    worker = bridge(lambda environ, start_response: (start_response("200 OK", []), streamed)[1])
    reader = Reader(worker)

    until(lambda: reader.answered.body == b"first")
    more.set()
    reader.done.result(10)

    assert reader.answered.body == b"firstsecond"
    assert streamed.closed.is_set()
    assert streamed.closed_by.startswith("django")


def test_a_stream_ends_when_its_reader_leaves_and_its_thread_is_free_again(bridge):
    def endless():
        while True:
            time.sleep(0.01)
            yield b"tick"

    streams = []

    def application(environ, start_response):
        start_response("200 OK", [])
        if environ["PATH_INFO"] == "/small":
            return [b"small"]
        streams.append(Streamed(endless()))
        return streams[-1]

    worker = bridge(application, threads=1)
    for _ in range(5):
        reader = Reader(worker)
        until(lambda reader=reader: len(reader.answered.pieces) > 2)
        worker.loop.call_soon_threadsafe(reader.left.set)
        reader.done.result(5)

    assert all(stream.closed.is_set() for stream in streams)
    assert worker.get("/small").body == b"small"


def test_a_stream_that_breaks_raises_and_is_closed(bridge):
    def breaking():
        yield b"first"
        raise ValueError("planted")

    streamed = Streamed(breaking())
    worker = bridge(lambda environ, start_response: (start_response("200 OK", []), streamed)[1])
    reader = Reader(worker)

    with pytest.raises(ValueError, match="planted"):
        reader.done.result(5)

    assert streamed.closed.is_set()


def test_a_small_stream_of_known_length_goes_out_whole(bridge):
    streamed = Streamed([b"a" * 4096, b"b" * 4096])
    headers = [("Content-Length", "8192")]
    worker = bridge(lambda environ, start_response: (start_response("200 OK", headers), streamed)[1])

    answer = worker.get("/")

    assert [len(piece) for piece in answer.pieces] == [8192]
    assert streamed.closed.is_set()


def test_stopping_waits_for_what_runs_and_ends_streams(bridge):
    def endless():
        while True:
            time.sleep(0.01)
            yield b"tick"

    slow_may_end = threading.Event()
    streamed = Streamed(endless())

    def application(environ, start_response):
        start_response("200 OK", [])
        if environ["PATH_INFO"] == "/slow":
            slow_may_end.wait(60)
            return [b"slow"]
        return streamed

    worker = bridge(application)
    reader, slow = Reader(worker), worker.start("GET", "/slow")
    until(lambda: len(reader.answered.pieces) > 2)

    stopped = asyncio.run_coroutine_threadsafe(worker.application.close(10), worker.loop)
    reader.done.result(5)
    assert not stopped.done()
    slow_may_end.set()

    assert slow.result(5).body == b"slow"
    stopped.result(5)
    assert streamed.closed.is_set()


class Reader:
    """Reads a stream until `left` is set."""

    def __init__(self, worker: Worker, path: str = "/") -> None:
        self.answered = Answered()
        self.done = asyncio.run_coroutine_threadsafe(self._read(worker, path), worker.loop)

    async def _read(self, worker: Worker, path: str) -> None:
        self.left = asyncio.Event()
        messages = [{"type": "http.request", "body": b"", "more_body": False}]

        async def receive():
            if messages:
                return messages.pop()
            await self.left.wait()
            return {"type": "http.disconnect"}

        async def send(message):
            if message["type"] == "http.response.body":
                self.answered.pieces.append(message["body"])

        await worker.application(scope_of("GET", path, {}), receive, send)
