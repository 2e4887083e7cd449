"""What the fast paths of agents have in common: heads that are plain enough, and bodies read whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from controlplane.web.django_bridge import Message, Receive
from overrides.api.effective.fast_path.requests import PlainRequests, is_our_host

_TYPES = {b"application/json", b"application/json; charset=utf-8"}
_LONGEST_BODY = 64 * 1024
# They change the answer, or mean that somebody else is asking.
_KEY = b"idempotency-key"
_UNUSUAL = frozenset({b"cookie", b"origin", b"transfer-encoding", b"expect", b"x-forwarded-host", _KEY})
_SCHEME = b"Bearer "


@dataclass(slots=True)  # not frozen: that costs a microsecond
class PlainHead:
    """digest: of the token. key: the Idempotency-Key, where it is taken."""

    digest: bytes
    secure: bool
    request_id: str | None
    key: str | None = None


class PlainHeads:
    """Reads heads by the settings of the process. takes_keys: an Idempotency-Key is nothing unusual."""

    def __init__(self, *, takes_keys: bool = False) -> None:
        self._unusual = _UNUSUAL - {_KEY} if takes_keys else _UNUSUAL
        self._requests = PlainRequests()

    def read(self, scope: Mapping[str, Any], method: str) -> PlainHead | None:
        """Return what the head says, or None if it is not a plain one."""
        if scope["method"] != method or scope["query_string"] or scope.get("root_path"):
            return None
        sent = scope["headers"]
        headers = dict(sent)
        # A header that is sent twice is joined for Django.
        if len(headers) < len(sent) or not self._unusual.isdisjoint(headers):
            return None
        authorization = headers.get(b"authorization", b"")
        secure = self._requests.is_secure(scope["scheme"], headers)
        if (
            not authorization.startswith(_SCHEME)
            or headers.get(b"content-type") not in _TYPES
            or not _is_short(headers.get(b"content-length", b""))
            or (self._requests.tls_only and not secure)
            or not is_our_host(headers.get(b"host", b""))
        ):
            return None
        request_id = headers.get(b"x-request-id")
        said = None if request_id is None else request_id.decode("latin-1")
        key = headers.get(_KEY)
        return PlainHead(
            sha256(authorization[len(_SCHEME) :]).digest(),
            secure,
            said,
            None if key is None else key.decode("latin-1"),
        )


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


def once_more(body: bytes, receive: Receive) -> Receive:
    """The body again, for Django; then whatever comes."""
    left = [body]

    async def received() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return received


def _is_short(length: bytes) -> bool:
    return length.isdigit() and int(length) <= _LONGEST_BODY
