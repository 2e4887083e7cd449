"""The least that a fast path costs: an empty 204 from the protocol."""

from __future__ import annotations

from benchmarks.peers.empty import application as empty
from controlplane.web.django_bridge import Receive, Scope, Send
from controlplane.web.exchange import Exchange, FastAnswer
from controlplane.web.fast_requests import RawHead, RequestHead
from controlplane.web.learned_headers import Learned

_HEAD = RequestHead("/", b"", b"", b"", is_secure=False, request_id=None)
_NO_HEADERS = Learned((), b"")


class _Empty:
    def take(self, raw: RawHead) -> RequestHead:
        return _HEAD

    def begin(self, exchange: Exchange) -> None:
        exchange.answer(FastAnswer(204, b""), _NO_HEADERS)


class _Application:
    def __init__(self) -> None:
        self._empty = _Empty()

    def fast_path(self, path: str) -> _Empty:
        return self._empty

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await empty(scope, receive, send)


application = _Application()
