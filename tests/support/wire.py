"""Everything that passes a NATS server, as it passes: a client of the plain protocol that only listens."""

from __future__ import annotations

import json
import socket
import threading
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit


@dataclass
class WireMessage:
    subject: str
    headers: dict[str, str]
    body: bytes


@dataclass
class Wire:
    """Subscribed to all subjects that match. `on_message` is called in the order of the wire."""

    url: str
    subject: str
    on_message: Any
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def __enter__(self) -> Wire:
        parts = urlsplit(self.url)
        self._socket = socket.create_connection((parts.hostname or "127.0.0.1", parts.port or 4222), 10)
        self._socket.settimeout(None)
        self._file = self._socket.makefile("rb")
        assert self._file.readline().startswith(b"INFO ")
        login = (
            {"user": unquote(parts.username), "pass": unquote(parts.password or "")} if parts.username else {}
        )
        options = {"verbose": False, "pedantic": False, "headers": True, "lang": "python", "version": "1"}
        self._send(f"CONNECT {json.dumps({**options, **login})}\r\nSUB {self.subject} 1\r\nPING\r\n".encode())
        assert self._file.readline().startswith(b"PONG")
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        self._file.close()
        self._socket.close()

    def publish(self, subject: str, body: bytes) -> None:
        self._send(b"PUB %s %d\r\n%s\r\n" % (subject.encode(), len(body), body))

    def _send(self, raw: bytes) -> None:
        with self._lock:
            self._socket.sendall(raw)

    def _read(self) -> None:
        while line := self._file.readline():
            words = line.split()
            if words[:1] == [b"PING"]:
                self._send(b"PONG\r\n")
            elif words[:1] in ([b"MSG"], [b"HMSG"]):
                self._take(words)

    def _take(self, words: list[bytes]) -> None:
        with_headers = words[0] == b"HMSG"
        raw = self._file.read(int(words[-1]) + 2)[:-2]
        split_at = int(words[-2]) if with_headers else 0
        lines = raw[:split_at].decode().split("\r\n")[1:]
        headers = dict(line.split(":", 1) for line in lines if ":" in line)
        headers = {name: value.strip() for name, value in headers.items()}
        self.on_message(WireMessage(words[1].decode(), headers, raw[split_at:]))
