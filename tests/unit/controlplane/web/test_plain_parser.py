"""Requests that wish for another protocol are read whole, as if they did not, wherever they are cut."""

from __future__ import annotations

from typing import Any

import pytest
from httptools import HttpParserError, HttpParserUpgrade
from hypothesis import given
from hypothesis import strategies as st

from controlplane.web.plain_parser import PlainParser, head_of

H2C = b"Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA\r\n"
WEBSOCKET = b"Connection: keep-alive, upgrade\r\nUpgrade: websocket\r\n"
BODY = b'{"name": "a"}'


class Recorder:
    """Records each request: method, URL, headers, keep-alive and body; and when it was complete."""

    def __init__(self) -> None:
        self.url, self.headers, self.recorded = b"", list[tuple[bytes, bytes]](), list[Any]()
        self.parser = PlainParser(self)

    def on_message_begin(self) -> None:
        self.url, self.headers = b"", []

    def on_url(self, url: bytes) -> None:
        self.url += url

    def on_header(self, name: bytes, value: bytes) -> None:
        self.headers.append((name.lower(), value))

    def on_headers_complete(self) -> None:
        method, keeps = self.parser.get_method(), self.parser.should_keep_alive()
        self.recorded.append([method, self.url, dict(self.headers), keeps, b""])

    def on_body(self, body: bytes) -> None:
        self.recorded[-1][-1] += body

    def on_message_complete(self) -> None:
        self.recorded.append("complete")


def request(wish: bytes, *, chunked: bool = False) -> bytes:
    head = b"POST /api/v1/agents?dry_run=true HTTP/1.1\r\nHost: a\r\n" + wish
    if chunked:
        return head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%b\r\n0\r\n\r\n" % (len(BODY), BODY)
    return head + b"Content-Length: %d\r\n\r\n%b" % (len(BODY), BODY)


def parse(data: bytes, cuts: tuple[int, ...] = ()) -> list[Any]:
    recorder = Recorder()
    for start, end in zip((0, *cuts), (*cuts, len(data)), strict=True):
        recorder.parser.feed_data(data[start:end])
    return recorder.recorded


@pytest.mark.parametrize("wish", [H2C, WEBSOCKET])
@pytest.mark.parametrize("chunked", [False, True])
def test_a_request_with_a_wish_has_its_body_wherever_it_is_cut(wish: bytes, *, chunked: bool) -> None:
    data = request(wish, chunked=chunked)
    for cut in range(1, len(data)):
        (first, complete) = parse(data, (cut,))
        assert (first[0], first[1], first[-1]) == (b"POST", b"/api/v1/agents?dry_run=true", BODY)
        assert complete == "complete"
        assert first[3]
        assert not {b"upgrade", b"http2-settings"} & first[2].keys()


@given(st.lists(st.booleans(), min_size=1, max_size=4), st.data())
def test_requests_behind_each_other_are_parsed_in_order(wishes: list[bool], data: st.DataObject) -> None:
    sent = b"".join(request(H2C if wish else b"") for wish in wishes)
    cuts = tuple(sorted(data.draw(st.sets(st.integers(1, len(sent) - 1), max_size=5))))

    assert [each[-1] for each in parse(sent, cuts) if each != "complete"] == [BODY] * len(wishes)
    assert parse(sent, cuts).count("complete") == len(wishes)


def test_a_request_that_closes_still_closes() -> None:
    closing = request(b"Connection: close, Upgrade\r\nUpgrade: h2c\r\n")
    assert parse(closing)[0][3] is False


def test_connect_and_nonsense_raise_as_ever() -> None:
    with pytest.raises(HttpParserUpgrade):
        parse(b"CONNECT a:443 HTTP/1.1\r\nHost: a\r\n\r\n")
    with pytest.raises(HttpParserError):
        parse(b"POST / HTTP/1.1\r\nUpgrade : h2c\r\n\r\n")


def test_a_head_without_its_wish() -> None:
    headers = [(b"host", b"a"), (b"connection", b"Upgrade , close"), (b"upgrade", b"h2c")]
    assert head_of(b"GET / HTTP/1.1", headers) == b"GET / HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
