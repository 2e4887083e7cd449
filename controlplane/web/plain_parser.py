"""A parser of HTTP requests that passes over wishes for another protocol, as RFC 9110 section 7.8 allows.

httptools ends a request with `Upgrade` at its head, and what follows is lost. Java's client wishes for HTTP/2
(`Upgrade: h2c`) with every first request, so that its bodies would be empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from httptools import HttpParserUpgrade, HttpRequestParser

_WISHES = (b"upgrade", b"http2-settings")


class PlainParser:
    """Reads a request that wishes for another protocol again, without the wish. CONNECT alone still raises.

    protocol: has the callbacks of httptools, and collects `url` and `headers`.
    """

    def __init__(self, protocol: Any) -> None:
        self._protocol = protocol
        self._has_wish = False
        self._begin()

    def _begin(self) -> None:
        protocol = self._protocol
        callbacks = SimpleNamespace(
            on_message_begin=protocol.on_message_begin,
            on_url=protocol.on_url,
            on_header=protocol.on_header,
            on_headers_complete=self._on_headers_complete,
            on_body=protocol.on_body,
            on_message_complete=self._on_message_complete,
        )
        parser = self._parser = HttpRequestParser(callbacks)
        # As uvicorn: a response to the first request is possible when more follows `Connection: close`.
        parser.set_dangerous_leniencies(lenient_data_after_close=True)
        self.get_method, self.get_http_version = parser.get_method, parser.get_http_version
        self.should_upgrade, self.should_keep_alive = parser.should_upgrade, parser.should_keep_alive

    def feed_data(self, data: bytes) -> None:
        """Parse what arrived. Raises like httptools."""
        while True:
            try:
                return self._parser.feed_data(data)
            except HttpParserUpgrade as upgrade:
                if not self._has_wish:
                    raise
                data = self._plain_head() + data[upgrade.args[0] :]
                self._has_wish = False
                self._begin()

    def _on_headers_complete(self) -> None:
        self._has_wish = self.should_upgrade() and self.get_method() != b"CONNECT"
        if not self._has_wish:
            self._protocol.on_headers_complete()

    def _on_message_complete(self) -> None:
        if not self._has_wish:
            self._protocol.on_message_complete()

    def _plain_head(self) -> bytes:
        version = self.get_http_version().encode("ascii")
        line = b"%b %b HTTP/%b" % (self.get_method(), self._protocol.url, version)
        return head_of(line, self._protocol.headers)


def head_of(line: bytes, headers: Iterable[tuple[bytes, bytes]]) -> bytes:
    """Return the head of a request without what asks for another protocol. headers: names in lower case."""
    lines = [line]
    for name, value in headers:
        if name == b"connection":
            tokens = [token.strip() for token in value.split(b",")]
            others = (token for token in tokens if token.lower() not in _WISHES)
            lines.append(b"connection: " + b", ".join(others))
        elif name not in _WISHES:
            lines.append(b"%b: %b" % (name, value))
    return b"\r\n".join((*lines, b"", b""))
