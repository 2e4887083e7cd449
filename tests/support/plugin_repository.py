"""A web server with archives of plugins: with ETags and ranges, and with the faults that a test wants."""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import yaml

from tests.unit.plugin_store.archives import tar_gz


@dataclass
class Faults:
    """hang: seconds before each answer. cut_after: bytes after which the connection ends, once per path."""

    hang: float = 0
    cut_after: int = 0
    status: int = 200
    redirect: str = ""
    is_endless: bool = False


@dataclass
class PluginRepository:
    """files: path to content. requests: path and headers of each that arrived."""

    url: str
    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, Faults] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)

    def add(self, path: str, content: bytes) -> str:
        """Publish a file, and return its checksum as configurations have it."""
        self.files[path] = content
        return f"sha256:{hashlib.sha256(content).hexdigest()}"

    def requests_for(self, path: str) -> list[dict[str, str]]:
        return [headers for asked, headers in self.requests if asked == path]


def spec_of(
    name: str, *, image: str = "${config.executor_image}", version: str = "1.0.0"
) -> dict[str, object]:
    return {
        "name": name,
        "plugintype": "task",
        "pluginversion": version,
        "image": image,
        "entrypoint": {"script": "python3 /opt/main.py"},
    }


def plugin_archive(name: str, **spec: str) -> bytes:
    """An archive with a specification of format 1, and a file beside it."""
    text = yaml.safe_dump(spec_of(name, **spec))
    return tar_gz({f"optimus-plugin-{name}.yaml": text.encode(), "assets/query.sql": b"select 1;\n"})


@contextmanager
def running_repository() -> Iterator[PluginRepository]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads = True
    repository = PluginRepository(f"http://127.0.0.1:{server.server_port}")
    server.repository = repository  # type: ignore[attr-defined]
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield repository
    finally:
        repository.stop.set()
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        repository: PluginRepository = self.server.repository  # type: ignore[attr-defined]
        path = self.path.lstrip("/")
        repository.requests.append((path, dict(self.headers)))
        faults = repository.faults.get(path, Faults())
        if faults.hang:
            repository.stop.wait(faults.hang)
        if faults.redirect:
            self._answer(302, b"", {"Location": faults.redirect})
        elif faults.status != 200 or path not in repository.files:
            status = faults.status if faults.status != 200 else 404
            self._answer(status, b"<!DOCTYPE html><html>Not here</html>", {"Content-Type": "text/html"})
        elif faults.is_endless:
            self._send_without_end(repository)
        else:
            self._send(repository.files[path], faults)

    def _send(self, content: bytes, faults: Faults) -> None:
        etag = f'"{hashlib.sha256(content).hexdigest()[:16]}"'
        start, status = 0, 200
        headers = {"ETag": etag}
        if (wanted := self.headers.get("Range")) and self.headers.get("If-Range") == etag:
            start, status = int(wanted.removeprefix("bytes=").rstrip("-")), 206
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        body = content[start:]
        if faults.cut_after:
            cut, faults.cut_after = faults.cut_after, 0
            self._answer(status, body[:cut], headers, length=len(body))
            self.close_connection = True
            return
        self._answer(status, body, headers)

    def _send_without_end(self, repository: PluginRepository) -> None:
        self.send_response(200)
        self.end_headers()
        self.close_connection = True
        while not repository.stop.is_set():
            self.wfile.write(b"x" * 65536)
            time.sleep(0.001)

    def _answer(
        self, status: int, body: bytes, headers: dict[str, str], *, length: int | None = None
    ) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Tests do not read it."""
