"""Downloads from servers that are slow, or end early, or redirect."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from controlplane.downloads import DownloadTerms, download
from controlplane.errors import InvalidRequest, RemoteFailed

_HEAD = b"HTTP/1.1 200 OK\r\n"
Talk = Callable[[socket.socket], None]


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]


@contextmanager
def server(*talks: Talk) -> Iterator[str]:
    """Serve a connection by each function, one after the other, and end it."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=_serve, args=(listener, talks), daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/file"


def _serve(listener: socket.socket, talks: tuple[Talk, ...]) -> None:
    for talk in talks:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            try:
                talk(connection)
            except OSError:
                continue


def says(answer: bytes) -> Talk:
    return lambda connection: connection.sendall(answer)


def drips(begin: bytes, drop: bytes) -> Talk:
    def talk(connection: socket.socket) -> None:
        connection.sendall(begin)
        for _ in range(200):
            connection.sendall(drop)
            time.sleep(0.05)

    return talk


@pytest.mark.parametrize(
    ("begin", "drop"),
    [
        (_HEAD + b"X-Slow: ", b"x"),
        (_HEAD + b"Content-Length: 100000\r\n\r\n", b"x"),
        (_HEAD + b"Connection: close\r\n\r\n", b"x"),
        (_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\nx\r\n"),
        (_HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"0"),
    ],
)
def test_a_server_that_sends_byte_by_byte_ends_with_its_time(tmp_path, begin, drop):
    began = time.monotonic()
    with server(drips(begin, drop)) as url, pytest.raises(RemoteFailed):
        download(url, tmp_path / "file", DownloadTerms(total_seconds=0.5, retries=3))
    assert time.monotonic() - began < 3


def test_a_server_that_says_nothing_is_left_after_the_idle_time(tmp_path):
    began = time.monotonic()
    with server(lambda _: time.sleep(5)) as url, pytest.raises(RemoteFailed, match="whole file"):
        download(url, tmp_path / "file", DownloadTerms(idle_seconds=0.3, retries=0))
    assert time.monotonic() - began < 3


def test_a_body_without_a_length_ends_with_its_connection(tmp_path):
    with server(says(_HEAD + b"\r\nwhole")) as url:
        download(url, tmp_path / "file", DownloadTerms())
    assert (tmp_path / "file").read_bytes() == b"whole"


def test_a_body_that_is_cut_without_an_etag_is_fetched_again_from_its_start(tmp_path):
    cut, whole = b"Content-Length: 6\r\n\r\nabc", b"Content-Length: 6\r\n\r\nabcdef"
    with server(says(_HEAD + cut), says(_HEAD + whole)) as url:
        download(url, tmp_path / "file", DownloadTerms())
    assert (tmp_path / "file").read_bytes() == b"abcdef"


def test_a_file_that_changed_meanwhile_is_not_put_together_of_two(tmp_path):
    cut = _HEAD + b'ETag: "1"\r\nContent-Length: 6\r\n\r\nabc'
    other = _HEAD + b'ETag: "2"\r\nContent-Length: 6\r\n\r\nuvwxyz'
    with server(says(cut), says(other)) as url:
        download(url, tmp_path / "file", DownloadTerms())
    assert (tmp_path / "file").read_bytes() == b"uvwxyz"


def test_another_part_than_was_asked_for_is_not_used(tmp_path):
    cut = _HEAD + b'ETag: "1"\r\nContent-Length: 6\r\n\r\nabc'
    part = (
        b'HTTP/1.1 206 Partial\r\nETag: "1"\r\nContent-Range: bytes 1-5/6\r\nContent-Length: 5\r\n\r\nbcdef'
    )
    whole = _HEAD + b'ETag: "1"\r\nContent-Length: 6\r\n\r\nabcdef'
    with server(says(cut), says(part), says(whole)) as url:
        download(url, tmp_path / "file", DownloadTerms())
    assert (tmp_path / "file").read_bytes() == b"abcdef"


def test_redirects_end(tmp_path):
    redirect = says(b"HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n\r\n")
    with server(*[redirect] * 6) as url, pytest.raises(RemoteFailed, match="more than 5 times"):
        download(url, tmp_path / "file", DownloadTerms())


@pytest.mark.parametrize("location", ["http://169.254.169.254/latest", "http://[::1]/", "file:///etc/passwd"])
def test_a_redirect_leads_to_no_address_that_is_not_allowed(tmp_path, location):
    answer = f"HTTP/1.1 302 Found\r\nLocation: {location}\r\nContent-Length: 0\r\n\r\n".encode()
    with server(says(answer)) as url, pytest.raises(InvalidRequest):
        download(url, tmp_path / "file", DownloadTerms(retries=0))
