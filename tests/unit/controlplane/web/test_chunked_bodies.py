"""What Django reads under granian's own WSGI interface, which shows a broken body as an empty one."""

from __future__ import annotations

from io import BufferedReader, BytesIO

import pytest

from controlplane.web.chunked_bodies import ContentLengthMiddleware


def read(body: bytes, *, size: int = -1, **environ: str) -> bytes:
    """What the application reads of the body, by way of a stream that is not ours."""
    contents: list[bytes] = []

    def application(environ, start_response):
        stream = environ["wsgi.input"]
        if size < 0:
            contents.append(stream.read(int(environ.get("CONTENT_LENGTH") or 0)))
        while size > 0 and (piece := stream.read(size)):
            contents.append(piece)

    ContentLengthMiddleware(application)({"wsgi.input": BufferedReader(BytesIO(body)), **environ}, None)
    return b"".join(contents)


@pytest.mark.parametrize("size", [-1, 1, 3, 100])
def test_a_body_of_the_announced_length_is_read(size):
    assert read(b"hello", size=size, CONTENT_LENGTH="5") == b"hello"
    assert read(b"", size=size, CONTENT_LENGTH="0") == b""
    assert read(b"", size=size) == b""


@pytest.mark.parametrize("size", [-1, 1, 3, 100])
@pytest.mark.parametrize("body", [b"", b"hell"])
def test_a_shorter_one_fails_where_it_is_read(body, size):
    with pytest.raises(OSError, match="ended early"):
        read(body, size=size, CONTENT_LENGTH="5")


def test_a_body_in_chunks_is_read_and_an_empty_one_may_be_a_broken_one():
    assert read(b"hello", HTTP_TRANSFER_ENCODING="chunked") == b"hello"
    with pytest.raises(OSError, match="ended early"):
        read(b"", HTTP_TRANSFER_ENCODING="chunked")
