"""A request with a fast path on a connection of our own server."""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING, Any

from uvicorn.protocols.http.httptools_impl import STATUS_LINE, RequestResponseCycle

from controlplane.web.django_bridge import Application, Receive, Scope, Send
from controlplane.web.exchange import Exchange, FastAnswer
from controlplane.web.fast_requests import RawHead, RequestHead
from controlplane.web.incomplete_body import INCOMPLETE
from controlplane.web.learned_headers import Learned, LearnedHeaders, lines_of

if TYPE_CHECKING:
    from controlplane.web.fast_path import FastPath
    from controlplane.web.fast_protocol import FastProtocol


class _NoEvent:
    """In place of the event of a cycle: nobody waits for a piece of the body."""

    def set(self) -> None:
        """Do nothing."""


_NO_EVENT = _NoEvent()


class ProtocolExchange(Exchange):
    """A request with a fast path; for uvicorn, it is the cycle of its connection."""

    __slots__ = (
        # Attributes of uvicorn's RequestResponseCycle.
        *("disconnected", "keep_alive", "message_event", "more_body", "response_complete"),
        *("_protocol", "fast_path", "raw"),
    )

    def __init__(self, protocol: FastProtocol, fast_path: FastPath, head: RequestHead, raw: RawHead) -> None:
        self._protocol, self.fast_path, self.head, self.raw = protocol, fast_path, head, raw
        self.method, self.began_at = raw.method, time.perf_counter()
        self.body: Any = bytearray()
        self.more_body, self.message_event = True, _NO_EVENT
        self.disconnected = self.response_complete = False
        self.keep_alive = bool(protocol.parser.should_keep_alive())

    def answer(self, answer: FastAnswer, learned: Learned) -> None:
        protocol = self._protocol
        if self.is_over():
            return
        end = b"\r\n" if self.keep_alive else b"connection: close\r\n\r\n"
        content = b"" if self.method == "HEAD" else answer.body
        own = lines_of(answer.headers)
        protocol.transport.write(
            b"".join((STATUS_LINE[answer.status], protocol.server_lines(), learned.lines, own, end, content))
        )
        self.response_complete = True
        if not self.keep_alive:
            protocol.transport.close()
        protocol.on_response_complete()

    def leave(self, django: Application, learned: LearnedHeaders) -> None:
        if self.is_over():
            return
        is_secure = self.head.is_secure

        async def learning(scope: Scope, receive: Receive, send: Send) -> None:
            await django(scope, receive, learned.learn_from(send, is_secure=is_secure))

        self._protocol.continue_ordinarily(self, learning)

    def scope(self) -> Any:
        """Return the request as ASGI describes it."""
        protocol, raw = self._protocol, self.raw
        return {
            **({INCOMPLETE: True} if self.more_body else {}),
            "type": "http",
            "asgi": {"version": protocol.asgi_version, "spec_version": "2.3"},
            "http_version": "1.1",
            "server": protocol.server,
            "client": protocol.client,
            "scheme": raw.scheme,
            "root_path": protocol.root_path,
            "headers": raw.headers,
            "state": protocol.app_state.copy(),
            "method": raw.method,
            "path": raw.path,
            "raw_path": raw.path.encode("ascii"),
            "query_string": raw.query,
        }

    def as_cycle(self) -> RequestResponseCycle:
        """Return a cycle of uvicorn's for this request, with all of its body."""
        protocol, event = self._protocol, asyncio.Event()
        event.set()
        cycle = RequestResponseCycle(
            scope=self.scope(),
            transport=protocol.transport,
            flow=protocol.flow,
            logger=protocol.logger,
            access_logger=protocol.access_logger,
            access_log=protocol.access_log,
            default_headers=protocol.server_state.default_headers,
            message_event=event,
            expect_100_continue=False,
            keep_alive=self.keep_alive,
            on_response=protocol.on_response_complete,
        )
        cycle.body, cycle.more_body = bytearray(self.body), False
        return cycle

    def is_over(self) -> bool:
        # `disconnected` is not set while a later request waits: uvicorn knows only the latest cycle.
        return self.disconnected or self.response_complete or self._protocol.transport.is_closing()
