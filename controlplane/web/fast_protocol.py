"""uvicorn's HTTP protocol, in which fast paths answer requests without an ASGI cycle, a task or a future.

A request that no fast path takes goes through uvicorn as ever. On one connection at most one request is with
a fast path. What arrives behind an unanswered request is held unparsed, so that answers leave in the order of
requests. A test fails if the attributes of uvicorn's class that this relies on change.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from httptools import HttpParserError, HttpParserUpgrade
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle

from controlplane.web.connection_limits import ConnectionLimits, Phase
from controlplane.web.fast_requests import RawHead
from controlplane.web.incomplete_body import INCOMPLETE, noticing_incomplete
from controlplane.web.learned_headers import Header, lines_of
from controlplane.web.pipelining import PipelineFlow, Trailers, end_of_body, end_of_request, may_have_two
from controlplane.web.plain_parser import PlainParser
from controlplane.web.protocol_exchange import ProtocolExchange
from controlplane.web.refusals import MAX_HEAD_BYTES, HeadTooLarge, check_head, refusal_of
from controlplane.web.turns import SHARE, Turns

# Of a body's bytes without content: extensions of chunks, and trailers, which are ignored.
_MAX_IGNORED_BYTES = 64 * 1024


def _no_fast_path(path: str) -> None:
    """Stand in for applications without fast paths."""


class FastProtocol(HttpToolsProtocol):
    """The application may have a method `fast_path(path)`, which returns the fast path of a path, or None."""

    # An ordinary cycle, or an exchange in place of one.
    cycle: Any
    flow: PipelineFlow

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self.parser = PlainParser(self)  # type: ignore[assignment]  # it has the methods that are used
        self._fast_path = getattr(self.config.loaded_app, "fast_path", _no_fast_path)
        self._limits = ConnectionLimits.of(self.server_state, self.loop)
        self._turns = Turns.of(self.server_state, self.loop)
        self._server_headers: Sequence[Header] = []
        self._server_lines = b""
        self._body_headers: list[Header] = []
        # Pieces of what arrived that are parsed without delay: see Turns.
        self._share = SHARE
        # Bytes that are parsed at once, and those of a head that arrived later than its beginning.
        self._arrived = self._later_head = 0
        self.body_bytes = self._ignored = 0
        self._refusal: bytes | None = None
        # Nothing more is parsed: what follows an incomplete body is no request.
        self._has_ended = False
        self._running: Any = None
        self.phase, self.phase_since = Phase.IDLE, self._limits.now

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self.flow = PipelineFlow(transport, self._wait)
        self._limits.watch()

    def connection_lost(self, exc: Exception | None) -> None:
        running = self._running
        super().connection_lost(exc)
        # uvicorn tells only the latest cycle, and an earlier one would wait forever.
        if running is not None and not running.response_complete:
            running.disconnected = True
            running.message_event.set()
        self.pipeline.clear()
        self.flow.take()

    def server_lines(self) -> bytes:
        """Return the server's own header lines, such as the date: uvicorn replaces them once a second."""
        if self._server_headers is not self.server_state.default_headers:
            self._server_headers = self.server_state.default_headers
            self._server_lines = lines_of(self._server_headers)
        return self._server_lines

    def is_busy(self) -> bool:
        """Return whether a request has no complete response yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def data_received(self, data: bytes) -> None:
        if self._is_ending():
            return
        flow, phase = self.flow, self.phase
        if flow.held or ((flow.write_paused or phase is not Phase.IDLE) and self._must_wait()):
            flow.hold(data)
            return
        self._turns.has_new = True
        if may_have_two(data, in_body=phase is Phase.BODY):
            self._share = SHARE
            self._parse(data, 0, SHARE)
        else:
            self._feed(data)

    def eof_received(self) -> bool:  # type: ignore[override]  # asyncio's protocols may keep a connection
        """Keep the connection if the body of a request ends early: the client can still read why."""
        if self.phase is Phase.BODY and not self.flow.held and not self._is_ending():
            self._end_body()
        return self._has_ended and self.is_busy()

    def take_turn(self, most: int) -> int:
        """Parse some of what is held. Returns the number of pieces."""
        if not self.flow.held or self._must_wait() or self._is_ending():
            return 0
        pieces = self._parse(*self.flow.take(), most)
        self.flow.read_on()
        return pieces

    def _is_ending(self) -> bool:
        return self._has_ended or self._refusal is not None or self.transport.is_closing()

    def _wait(self) -> None:
        self._turns.add(self, is_late=self._share <= 0)

    def _must_wait(self) -> bool:
        """Return whether nothing can be parsed for now."""
        if self.phase is Phase.BODY:
            return self.flow.is_body_paused
        return self.flow.write_paused or self.is_busy()

    def _parse(self, data: bytes, start: int, most: int) -> int:
        """Parse `data[start:]` request by request, and hold what must wait. Returns the number of pieces."""
        size, pieces, flow = len(data), 0, self.flow
        while True:
            if self.phase is Phase.BODY:
                end = end_of_body(data, start, self._body_headers, self.body_bytes)
            else:
                end = end_of_request(data, start)
            self._feed(data[start:end])
            start, pieces = end, pieces + 1
            self._share -= 1
            if start == size or self._is_ending():
                return pieces
            if pieces == most or self._share == 0:
                self._wait()
            elif (self.phase is Phase.IDLE and not flow.write_paused) or not self._must_wait():
                continue
            flow.hold(data, start)
            return pieces

    def _feed(self, data: bytes) -> None:
        self._arrived, phase = len(data), self.phase
        if phase is Phase.HEAD:
            self._later_head += len(data)
        elif phase is Phase.BODY:
            self._ignored += len(data)
        try:
            self.parser.feed_data(data)
        except HttpParserUpgrade:
            pass  # CONNECT, which Django refuses
        except HttpParserError as error:
            self.logger.warning("Invalid HTTP request received.")
            if self.phase is Phase.BODY:
                self._end_body()
            else:
                self.refuse(431 if isinstance(error.__context__, HeadTooLarge) else 400)
            return
        phase = self.phase
        if phase is Phase.HEAD and self._later_head > MAX_HEAD_BYTES:
            self.refuse(431)
        elif phase is Phase.BODY and self._ignored > _MAX_IGNORED_BYTES:
            self.refuse(400)

    def on_message_begin(self) -> None:
        """Begin a head. The scope of an ordinary request is made when its head is complete."""
        self.url, self.headers, self.expect_100_continue = b"", [], False
        self._later_head = 0
        self.phase, self.phase_since = Phase.HEAD, self._limits.now

    def on_headers_complete(self) -> None:
        if self._later_head + self._arrived > MAX_HEAD_BYTES:
            check_head(self.parser.get_method(), self.url, self.headers)
        if self.transport.is_closing():
            # What follows `Connection: close` in the same bytes is no request of ours.
            raise ConnectionAbortedError
        exchange = self._taken()
        if exchange is None:
            self._begin_ordinarily()
        else:
            self.cycle = exchange
        self._body_headers, self.headers = self.headers, Trailers()
        self.body_bytes = self._ignored = 0
        if self.parser.should_upgrade():
            # The parser stops after CONNECT.
            self.cycle.keep_alive = False
        self.phase, self.phase_since = Phase.BODY, self._limits.now

    def _begin_ordinarily(self) -> None:
        url, headers, expects = self.url, self.headers, self.expect_100_continue
        super().on_message_begin()
        self.url, self.expect_100_continue = url, expects
        self.headers += headers
        super().on_headers_complete()

    def on_body(self, body: bytes) -> None:
        self.body_bytes += len(body)
        self._ignored = 0
        super().on_body(body)

    def on_message_complete(self) -> None:
        super().on_message_complete()
        self._enter(Phase.ANSWERING if self.is_busy() else Phase.IDLE)
        exchange = self.cycle
        if type(exchange) is ProtocolExchange and not exchange.response_complete:
            exchange.body = bytes(exchange.body)
            exchange.fast_path.begin(exchange)

    def on_response_complete(self) -> None:
        """Start what waits on this connection; `ConnectionLimits` is in place of uvicorn's timer."""
        self.server_state.total_requests += 1
        if self.transport.is_closing():
            return
        waiting = self.pipeline.pop() if self.pipeline else None
        self.flow.resume_reading()
        if waiting is not None:
            self._start_asgi_task(*waiting)
        elif self._refusal is not None:
            self._write(self._refusal)
        else:
            self._enter(Phase.IDLE if self.phase is Phase.ANSWERING else self.phase)

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, noticing_incomplete(app))

    def _end_body(self) -> None:
        """Have Django refuse a request whose body is incomplete, in the format of its path."""
        cycle, self._has_ended = self.cycle, True
        cycle.keep_alive = False
        self._enter(Phase.ANSWERING)
        if type(cycle) is ProtocolExchange:
            cycle.fast_path.leave(cycle)
        elif cycle.response_complete:
            self.transport.close()
        else:
            cycle.scope[INCOMPLETE], cycle.more_body = True, False
            cycle.message_event.set()

    def refuse(self, status: int) -> None:
        """Send an error after the responses that are still owed, and close the connection."""
        if self.transport.is_closing():
            return
        refusal = refusal_of(status, self.server_lines())
        if self.phase is Phase.BODY and self.pipeline:
            self.pipeline.popleft()  # the request that is refused
            self._refusal = refusal
        elif self.phase is not Phase.BODY and self.is_busy():
            self._refusal = refusal
        elif self.phase is Phase.BODY and getattr(self.cycle, "response_started", False):
            self.transport.close()
        else:
            self._write(refusal)

    def end_late(self) -> None:
        """Close a connection whose time is over."""
        if self.phase is Phase.IDLE:
            self.transport.close()
        else:
            self.refuse(408)

    def restart_timer(self) -> None:
        self.phase_since = self._limits.now

    def _write(self, refusal: bytes) -> None:
        self.transport.write(refusal)
        self.transport.close()

    def continue_ordinarily(self, exchange: ProtocolExchange, application: Any) -> None:
        """Run an ASGI application with a request that was read completely."""
        cycle = exchange.as_cycle()
        exchange.response_complete = True
        if self.cycle is exchange:
            self.cycle = cycle
        self._start_asgi_task(cycle, application)

    def _taken(self) -> ProtocolExchange | None:
        """Return the exchange if a fast path takes the request whose head is complete."""
        # A client that does not read its responses waits in the ordinary path.
        if self.is_busy() or self.flow.write_paused:
            return None
        path, _, query = self.url.partition(b"?")
        if b"%" in path or b"#" in self.url:
            return None
        name = path.decode("ascii")
        fast_path = self._fast_path(name)
        if fast_path is None or self.parser.get_http_version() != "1.1":
            return None
        method = self.parser.get_method().decode("ascii")
        raw = RawHead(method, name, query, self.headers, self.scheme or "http")
        head = fast_path.take(raw)
        return None if head is None else ProtocolExchange(self, fast_path, head, raw)

    def _enter(self, phase: Phase) -> None:
        self.phase, self.phase_since = phase, self._limits.now
