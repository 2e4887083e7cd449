"""Downloads of cpctl: continued, refused, and never longer or later than allowed."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from cpctl.errors import ApiError, Failed, TimedOut
from cpctl.plugins.downloads import Archive, Downloader, _redirected
from tests.support.plugin_server import (
    TOKEN,
    Handler,
    Instead,
    PluginServer,
    Slow,
    packed,
    running_plugin_server,
)


@pytest.fixture
def server() -> Iterator[PluginServer]:
    with running_plugin_server() as server:
        yield server


@pytest.fixture
def archive(server: PluginServer, tmp_path: Path) -> Archive:
    plugin = packed("loader", "1.0", tmp_path / "packed", padding=100_000)
    server.publish(plugin)
    url = f"{server.url}/api/v1/plugins/loader/artifact?sha256={plugin.locked.sha256}"
    return Archive("loader", url, plugin.locked.sha256, plugin.locked.size)


@pytest.fixture
def downloader(server: PluginServer) -> Downloader:
    return Downloader(server.url, f"Bearer {TOKEN}")


def part_of(target: Path, content: bytes) -> None:
    target.with_name(f"{target.name}.part").write_bytes(content)


def fetched(downloader: Downloader, archive: Archive, target: Path) -> bytes:
    downloader.fetch(archive, target)
    assert not target.with_name(f"{target.name}.part").exists()
    return target.read_bytes()


@pytest.mark.parametrize("size", [1, 50_000, 200_000])
def test_a_part_of_something_else_is_found_by_the_digest(server, archive, downloader, tmp_path, size):
    part_of(tmp_path / "a", b"x" * size)

    assert fetched(downloader, archive, tmp_path / "a") == server.archives[archive.sha256]


def test_a_complete_part_is_not_fetched_again(server, archive, downloader, tmp_path):
    part_of(tmp_path / "a", server.archives[archive.sha256])

    assert fetched(downloader, archive, tmp_path / "a") == server.archives[archive.sha256]
    assert server.requests == []


def test_a_server_without_ranges_sends_it_all_again(server, archive, downloader, tmp_path):
    content = server.archives[archive.sha256]
    server.fault = Instead(200, content)
    part_of(tmp_path / "a", content[:1000])

    assert fetched(downloader, archive, tmp_path / "a") == content
    assert len(server.requests) == 1


def test_another_archive_is_refused_and_leaves_nothing(server, archive, downloader, tmp_path):
    server.archives[archive.sha256] = bytes(reversed(server.archives[archive.sha256]))

    with pytest.raises(Failed, match="not the expected one"):
        downloader.fetch(archive, tmp_path / "a")

    assert [path.name for path in tmp_path.iterdir()] == ["packed"]


def test_an_endless_answer_ends_at_the_size_of_the_lock(server, archive, downloader, tmp_path):
    def endless(handler: Handler, content: bytes) -> bool:
        handler.send_response(200)
        handler.end_headers()
        handler.close_connection = True
        try:
            while True:
                handler.wfile.write(b"x" * 65536)
        except OSError:
            return True

    server.fault = endless

    with pytest.raises(Failed, match="more than the"):
        downloader.fetch(archive, tmp_path / "a")

    assert (tmp_path / "a.part").stat().st_size <= archive.size


def test_a_silent_server_is_not_waited_for_longer_than_allowed(server, archive, tmp_path):
    slow = Slow()
    server.fault = slow
    began = time.monotonic()

    with pytest.raises(TimedOut, match="took too long"):
        Downloader(server.url, f"Bearer {TOKEN}", until=began + 0.5).fetch(archive, tmp_path / "a")
    slow.released.set()

    assert time.monotonic() - began < 5
    assert (tmp_path / "a.part").exists()


def test_a_redirect_on_the_same_server_keeps_the_token(server, archive, downloader, tmp_path):
    moved = replace(archive, url=f"{server.url}/old/artifact?sha256={archive.sha256}")
    server.fault = lambda handler, content: _moved(handler)

    assert fetched(downloader, moved, tmp_path / "a") == server.archives[archive.sha256]


def _moved(handler: Handler) -> bool:
    if not handler.path.startswith("/old"):
        return False
    handler.send(307, b"", {"Location": handler.path.replace("/old", "/new")})
    return True


def test_redirects_end(server, archive, downloader, tmp_path):
    server.fault = lambda handler, content: bool(handler.send(302, b"", {"Location": handler.path})) or True

    with pytest.raises(Failed, match="redirects more than 5 times"):
        downloader.fetch(archive, tmp_path / "a")


@pytest.mark.parametrize("location", ["http://cp.example.com/x", "file:///etc/passwd", ""])
def test_a_redirect_never_leaves_tls(location):
    with pytest.raises(Failed, match="without TLS"):
        _redirected("https://cp.example.com/a", location)


def test_an_address_is_shown_without_credentials(server, archive, downloader, tmp_path):
    host = server.url.removeprefix("http://")
    secret = replace(archive, url=f"http://{host}/x/artifact?sha256={archive.sha256}&sig=hunter2")
    server.fault = Instead(404, b"no JSON")

    with pytest.raises(ApiError) as caught:
        downloader.fetch(secret, tmp_path / "a")

    assert "hunter2" not in " ".join(caught.value.lines())
    assert "Bearer" not in repr(downloader)


def test_no_other_scheme_is_opened(downloader, archive, tmp_path):
    with pytest.raises(Failed, match="not an HTTP address"):
        downloader.fetch(replace(archive, url="file:///etc/passwd"), tmp_path / "a")
