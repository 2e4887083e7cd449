"""Providers of plugins for benchmarks, in a process of their own: each can be made to hang."""

from __future__ import annotations

import hashlib
import io
import multiprocessing
import os
import tarfile
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from controlplane.local.programs import free_port

_SPECIFICATION = """\
name: {name}
plugintype: task
pluginversion: {version}
image: ${{config.executor_image}}
entrypoint:
  script: python3 /opt/main.py
"""


@dataclass(slots=True)
class Providers:
    """Where providers are. Each first part of a path is a provider of its own."""

    port: int

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def publish(self, path: str, archive: bytes) -> str:
        """Put a file there, and return its SHA-256."""
        urllib.request.urlopen(urllib.request.Request(f"{self.url}/{path}", archive, method="PUT")).close()
        return hashlib.sha256(archive).hexdigest()

    def hang(self, provider: str) -> None:
        self._tell(f"hang/{provider}")

    def recover(self, provider: str) -> None:
        self._tell(f"recover/{provider}")

    def _tell(self, what: str) -> None:
        urllib.request.urlopen(f"{self.url}/{what}", b"").close()


def archive_of(name: str, version: str, size: int) -> bytes:
    """An archive with a specification, and a file of so many random bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz", compresslevel=1) as tar:
        text = _SPECIFICATION.format(name=name, version=version).encode()
        for path, content in ((f"optimus-plugin-{name}.yaml", text), ("assets/data", os.urandom(size))):
            member = tarfile.TarInfo(path)
            member.size, member.mode = len(content), 0o644
            tar.addfile(member, io.BytesIO(content))
    return buffer.getvalue()


@contextmanager
def providers() -> Iterator[Providers]:
    port = free_port()
    process = multiprocessing.get_context("spawn").Process(target=_play, args=(port,), daemon=True)
    process.start()
    running = Providers(port)
    try:
        _wait_for(running)
        yield running
    finally:
        process.kill()
        process.join()


def _wait_for(running: Providers) -> None:
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            running.recover("none")
            return
        except OSError:
            time.sleep(0.1)
    raise RuntimeError("The providers do not start.")


@dataclass(slots=True)
class _Files:
    contents: dict[str, bytes] = field(default_factory=dict)
    hanging: set[str] = field(default_factory=set)
    changed: threading.Condition = field(default_factory=threading.Condition)


_files = _Files()


class _Handler(BaseHTTPRequestHandler):
    def do_PUT(self) -> None:
        _files.contents[self.path] = self.rfile.read(int(self.headers["Content-Length"]))
        self._answer(b"")

    def do_POST(self) -> None:
        _, what, provider = self.path.split("/")
        with _files.changed:
            (_files.hanging.add if what == "hang" else _files.hanging.discard)(provider)
            _files.changed.notify_all()
        self._answer(b"")

    def do_GET(self) -> None:
        provider = self.path.split("/")[1]
        with _files.changed:
            _files.changed.wait_for(lambda: provider not in _files.hanging)
        self._answer(_files.contents[self.path])

    def _answer(self, body: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args: object) -> None:
        """Nobody reads it."""


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024


def _play(port: int) -> None:
    _Server(("127.0.0.1", port), _Handler).serve_forever()
