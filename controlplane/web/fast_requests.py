"""Requests that are plain enough for a fast path: reading their heads and complete bodies.

All other requests are left to Django.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from typing import Any

from django.conf import settings
from django.http.request import split_domain_port, validate_host

from controlplane.web.django_bridge import Message, Receive

_JSON = {b"application/json", b"application/json; charset=utf-8"}
_MAX_BODY_BYTES = 64 * 1024
_KEY = b"idempotency-key"
_LENGTH = b"content-length"
_TRACE = b"traceparent"
# These change the response or its headers, or affect authentication or the body's length.
_UNUSUAL = frozenset({b"cookie", b"origin", b"transfer-encoding", b"expect", b"x-forwarded-host"})
_STRONG_ETAG = re.compile(rb'"[\x21\x23-\x7e]*"')
_SCHEME = b"Bearer "


@dataclass(slots=True)  # not frozen: that costs a microsecond
class RawHead:
    """A head as it arrived. path: decoded; the protocol passes only paths that need no decoding."""

    method: str
    path: str
    query: bytes
    headers: Sequence[tuple[bytes, bytes]]
    scheme: str

    @classmethod
    def of(cls, scope: Mapping[str, Any]) -> RawHead:
        """Read it from an ASGI scope."""
        path = scope.get("root_path", "") + scope["path"]
        return cls(scope["method"], path, scope["query_string"], scope["headers"], scope["scheme"])


@dataclass(slots=True)
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
    traceparent: bytes | None = None


class RequestHeads:
    """Reader of heads. Reads the settings once, because reading them for each request is slow.

    methods: accepted methods. has_body: requests have a JSON body and no query string. takes_keys: requests
    may have an Idempotency-Key.
    """

    def __init__(self, *methods: str, has_body: bool, takes_keys: bool = False) -> None:
        self._methods = frozenset(methods)
        self.has_body = has_body
        self._unusual = _UNUSUAL | (set() if has_body else {_LENGTH})
        if has_body and not takes_keys:
            self._unusual |= {_KEY}
        self._tls_only = settings.SECURE_SSL_REDIRECT
        name, self._tls_value = settings.SECURE_PROXY_SSL_HEADER or ("", "")
        self._tls_header = name.removeprefix("HTTP_").replace("_", "-").lower().encode()

    def read(self, raw: RawHead) -> RequestHead | None:
        """Return the head, or None if it is not plain."""
        if raw.method not in self._methods:
            return None
        received = raw.headers
        headers = dict(received)
        # Repeated headers are joined for Django only.
        if len(headers) < len(received) or not self._unusual.isdisjoint(headers):
            return None
        authorization = headers.get(b"authorization", b"")
        is_secure = self._is_secure(raw.scheme, headers)
        if (
            not authorization.startswith(_SCHEME)
            or (self._tls_only and not is_secure)
            or not is_our_host(headers.get(b"host", b""))
            or not (self._is_plain_json(raw, headers) if self.has_body else _is_plain_read(headers))
        ):
            return None
        secret, request_id = authorization[len(_SCHEME) :], headers.get(b"x-request-id")
        head = RequestHead(
            raw.path,
            raw.query,
            secret,
            sha256(secret).digest(),
            is_secure,
            None if request_id is None else request_id.decode("latin-1"),
            headers.get(b"if-none-match"),
        )
        if _KEY in headers:
            head.key = headers[_KEY].decode("latin-1")
        if _TRACE in headers:
            head.traceparent = headers[_TRACE]
        return head

    def _is_secure(self, scheme: str, headers: Mapping[bytes, bytes]) -> bool:
        """Return what HttpRequest.is_secure returns: a trusted proxy may have terminated TLS."""
        if self._tls_header and (protocol := headers.get(self._tls_header)) is not None:
            return protocol.decode("latin-1").partition(",")[0].strip() == self._tls_value
        return bool(scheme == "https")

    def _is_plain_json(self, raw: RawHead, headers: Mapping[bytes, bytes]) -> bool:
        length = headers.get(_LENGTH, b"")
        return (
            not raw.query
            and headers.get(b"content-type") in _JSON
            and length.isdigit()
            and int(length) <= _MAX_BODY_BYTES
        )


def _is_plain_read(headers: Mapping[bytes, bytes]) -> bool:
    # Django decodes the query by the charset of a body that is not there.
    content_type = headers.get(b"content-type", b"")
    if b";" in content_type and content_type not in _JSON:
        return False
    etag = headers.get(b"if-none-match")
    return etag is None or bool(_STRONG_ETAG.fullmatch(etag))


@lru_cache(maxsize=256)
def is_our_host(host: bytes) -> bool:
    if not host.isascii():
        return False
    domain, _ = split_domain_port(host.decode("ascii"))
    return bool(domain) and validate_host(domain, settings.ALLOWED_HOSTS)


async def whole_body(receive: Receive) -> bytes | None:
    """Return the body; None if the client disconnected before its end, or its chunks are invalid."""
    message = await receive()
    if message["type"] == "http.request" and not message.get("more_body"):
        return bytes(message.get("body", b""))
    body = bytearray()
    while message["type"] == "http.request":
        body += message.get("body", b"")
        if not message.get("more_body"):
            return bytes(body)
        message = await receive()
    return None


def replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a `receive` that repeats a body already read, then continues with the original."""
    bodies = [body]

    async def receive_again() -> Message:
        if bodies:
            return {"type": "http.request", "body": bodies.pop(), "more_body": False}
        return await receive()

    return receive_again
