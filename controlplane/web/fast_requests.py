"""Requests that are plain enough for a fast path: their heads, and their bodies read whole.

Whatever is unusual is left to Django.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from controlplane.web.django_bridge import Message, Receive

_JSON = {b"application/json", b"application/json; charset=utf-8"}
_LONGEST_BODY = 64 * 1024
_KEY = b"idempotency-key"
_LENGTH = b"content-length"
# They change the answer, or its headers, or mean that somebody else asks or that there is more to read.
_UNUSUAL = frozenset({b"cookie", b"origin", b"transfer-encoding", b"expect", b"x-forwarded-host"})
_ONE_STRONG_TAG = re.compile(rb'"[\x21\x23-\x7e]*"')
_SCHEME = b"Bearer "


@dataclass(slots=True)  # not frozen: that costs a microsecond
class RequestHead:
    """token_digest: of the bearer token `secret`. etag: of the client's copy. key: the Idempotency-Key."""

    path: str
    query: bytes
    secret: bytes
    token_digest: bytes
    is_secure: bool
    request_id: str | None
    etag: bytes | None = None
    key: str | None = None


class RequestHeads:
    """Reads heads by the settings of the process, which are read once: for each request it would show.

    methods: that are plain. has_body: they carry JSON, and have no query string. takes_keys: they may carry
    an Idempotency-Key.
    """

    def __init__(self, *methods: str, has_body: bool, takes_keys: bool = False) -> None:
        self._methods = frozenset(methods)
        self.has_body = has_body
        self._unusual = _UNUSUAL | (set() if has_body else {_LENGTH})
        if has_body and not takes_keys:
            self._unusual |= {_KEY}
        self._tls_only = settings.SECURE_SSL_REDIRECT
        name, self._tls_word = settings.SECURE_PROXY_SSL_HEADER or ("", "")
        self._tls_header = name.removeprefix("HTTP_").replace("_", "-").lower().encode()

    def read(self, scope: Mapping[str, Any]) -> RequestHead | None:
        """Return the head, or None if it is not a plain one."""
        if scope["method"] not in self._methods or scope.get("root_path"):
            return None
        received = scope["headers"]
        headers = dict(received)
        # A header that is sent twice is joined for Django.
        if len(headers) < len(received) or not self._unusual.isdisjoint(headers):
            return None
        authorization = headers.get(b"authorization", b"")
        is_secure = self._is_secure(scope["scheme"], headers)
        if (
            not authorization.startswith(_SCHEME)
            or (self._tls_only and not is_secure)
            or not is_our_host(headers.get(b"host", b""))
            or not (self._is_plain_json(scope, headers) if self.has_body else _is_plain_read(headers))
        ):
            return None
        secret, request_id = authorization[len(_SCHEME) :], headers.get(b"x-request-id")
        head = RequestHead(
            scope["path"],
            scope["query_string"],
            secret,
            sha256(secret).digest(),
            is_secure,
            None if request_id is None else request_id.decode("latin-1"),
            headers.get(b"if-none-match"),
        )
        if _KEY in headers:
            head.key = headers[_KEY].decode("latin-1")
        return head

    def _is_secure(self, scheme: str, headers: Mapping[bytes, bytes]) -> bool:
        """As HttpRequest.scheme: a trusted proxy may say that it has ended TLS."""
        if self._tls_header and (word := headers.get(self._tls_header)) is not None:
            return word.decode("latin-1").partition(",")[0].strip() == self._tls_word
        return bool(scheme == "https")

    def _is_plain_json(self, scope: Mapping[str, Any], headers: Mapping[bytes, bytes]) -> bool:
        length = headers.get(_LENGTH, b"")
        return (
            not scope["query_string"]
            and headers.get(b"content-type") in _JSON
            and length.isdigit()
            and int(length) <= _LONGEST_BODY
        )


def _is_plain_read(headers: Mapping[bytes, bytes]) -> bool:
    etag = headers.get(b"if-none-match")
    return etag is None or bool(_ONE_STRONG_TAG.fullmatch(etag))


@lru_cache(maxsize=256)
def is_our_host(host: bytes) -> bool:
    if not host.isascii():
        return False
    domain, _ = split_domain_port(host.decode("ascii"))
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


async def whole_body(receive: Receive) -> bytes | None:
    """The body; None if the client left before its end, or its chunks make no sense."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        return bytes(message.get("body", b""))
    pieces = bytearray()
    while message["type"] == "http.request":
        pieces += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(pieces)
        message = await receive()
    return None


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Receive a body that was read once more, then whatever follows."""
    bodies = [body]

    async def received() -> Message:
        if bodies:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}
        return await receive()

    return received
