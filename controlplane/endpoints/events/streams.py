"""Event streams and long polls, which hold a connection but no thread.

Django handles the request first: it authenticates, validates and returns the existing events. If a header of
its response contains a watch, the connection is kept open from there, without that header. Django handles the
request again whenever the caller's permissions may have changed, and when a watcher has fallen behind.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

from controlplane.endpoints.events.feed import Feed
from controlplane.endpoints.events.held_requests import (
    FirstResponse,
    RepeatableBody,
    ask_django,
    too_many_response,
)
from controlplane.endpoints.events.watcher_limits import WatcherLimits
from controlplane.events.stream_protocol import CLOUDEVENTS, Watch, bookmark, watch_from
from controlplane.web.django_bridge import Application, Message, Receive, Send

ROUTE = "/api/v1/events"
_WAIT = re.compile(rb"(?<![^&])wait=[^&]*&?")
# Proxies close connections after a minute without data.
KEEP_ALIVE_SECONDS = 15.0
# Tokens also expire, which changes nothing in the database.
_REAUTHORIZE_SECONDS = 300.0


@dataclass(frozen=True, slots=True)
class _Response:
    """watch: set if the connection stays open."""

    first: FirstResponse
    watch: Watch | None


class Watchers:
    """limits: shared with the other watchers of the process."""

    def __init__(self, django: Application, limits: WatcherLimits) -> None:
        self._django = django
        self._feed = Feed()
        self._limits = limits
        self._stopping = asyncio.Event()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        body = RepeatableBody(receive)
        response = await self._call_django(scope, body.first)
        if response.watch is None:
            await response.first.send(send)
            return
        principal = response.watch.principal
        if not self._limits.enter(principal):
            await too_many_response().send(send)
            return
        self._feed.join()
        try:
            watcher = _Watcher(self._feed, self._call_django, self._stopping, body, scope, receive, send)
            await watcher.run(response)
        finally:
            self._feed.leave()
            self._limits.leave(principal)

    def stop(self) -> None:
        """Close all connections. Watchers reconnect to another process and miss no events."""
        self._stopping.set()
        self._feed.close()

    async def _call_django(self, scope: Message, receive: Receive) -> _Response:
        response = await ask_django(self._django, scope, receive)
        return _Response(response, watch_from(response.watch) if response.watch else None)


class _Watcher:
    """One open connection."""

    def __init__(
        self,
        feed: Feed,
        call_django: Callable[[Message, Receive], Awaitable[_Response]],
        stopping: asyncio.Event,
        body: RepeatableBody,
        *connection: Any,
    ) -> None:
        self._feed, self._call_django, self._stopping, self._body = feed, call_django, stopping, body
        self._scope, self._receive, self._send = connection
        self._access = feed.access
        self._reauthorize_at = 0.0
        self._gone = asyncio.create_task(self._until_gone())

    async def run(self, response: _Response) -> None:
        try:
            if response.watch and response.watch.wait:
                await self._poll(response, response.watch)
            else:
                await self._stream(response)
        finally:
            self._gone.cancel()

    async def _poll(self, response: _Response, watch: Watch) -> None:
        """Respond as soon as there are events, or when the time is over.

        What is read again continues to wait as long as Django hands over a watch.
        """
        loop = asyncio.get_running_loop()
        until = loop.time() + watch.wait
        after = watch.after
        while (left := until - loop.time()) > 0 and self._is_on():
            changed = self._feed.changed
            if self._feed.is_ahead_of(after):
                if not self._feed.reaches_back_to(after) or any(map(watch.wants, self._feed.since(after))):
                    response = await self._continue_from(after, waits=False)
                    if response.watch is None or not watch.is_read_again:
                        break
                    # What was read may be older than the feed.
                    after = response.watch.after
                else:
                    after = self._feed.last or after
            await self._wait(changed, left)
        if response.watch is not None and watch.is_read_again and not self._gone.done():
            response = await self._continue_from(after, waits=False)
        await response.first.send(self._send)

    async def _stream(self, response: _Response) -> None:
        await self._send(
            {"type": "http.response.start", "status": 200, "headers": response.first.held_headers}
        )
        self._note_authorization()
        after = 0
        while response.watch is not None and self._is_on():
            after = response.watch.after
            await self._send_text(response.first.body)
            after = await self._follow(response.watch, after)
            if self._is_on():
                response = await self._continue_from(after)
        if self._stopping.is_set() and not self._gone.done():
            # The client continues from here at another process, even if nothing was sent since it began.
            await self._send_text(bookmark(after))
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _follow(self, watch: Watch, after: int) -> int:
        """Send new events until Django must reauthorize the request; return the last number sent."""
        while self._is_on() and not self._must_reauthorize():
            changed = self._feed.changed
            if self._feed.is_ahead_of(after):
                if not self._feed.reaches_back_to(after) or self._has_cloudevents(watch, after):
                    return after
                texts = [event.text for event in self._feed.since(after) if watch.wants(event)]
                after = self._feed.last or after
                if texts:
                    await self._send_text(b"".join(texts))
            if not await self._wait(changed, KEEP_ALIVE_SECONDS):
                await self._send_text(bookmark(after))
        return after

    def _has_cloudevents(self, watch: Watch, after: int) -> bool:
        """True if Django must write the next events: the feed has their native form alone."""
        return watch.format == CLOUDEVENTS and any(map(watch.wants, self._feed.since(after)))

    async def _continue_from(self, after: int, *, waits: bool = True) -> _Response:
        """Have Django handle the request again from `after`, with the caller's current permissions."""
        self._note_authorization()
        headers = [(name, value) for name, value in self._scope["headers"] if name != b"last-event-id"]
        headers.append((b"last-event-id", str(after).encode()))
        query = self._scope["query_string"]
        query = query if waits else _WAIT.sub(b"", query)
        return await self._call_django(
            {**self._scope, "headers": headers, "query_string": query}, self._body.again
        )

    def _note_authorization(self) -> None:
        self._access = self._feed.access
        # With jitter: ten thousand watchers may have connected at the same time.
        seconds = _REAUTHORIZE_SECONDS * random.uniform(0.7, 1.3)  # noqa: S311  (jitter)
        self._reauthorize_at = asyncio.get_running_loop().time() + seconds

    def _must_reauthorize(self) -> bool:
        rights_changed = bool(self._feed.access) and self._feed.access != self._access
        return rights_changed or asyncio.get_running_loop().time() > self._reauthorize_at

    async def _wait(self, changed: asyncio.Event, seconds: float) -> bool:
        """True if there may be events; False if the time is over."""
        waiting = {
            asyncio.create_task(changed.wait()),
            asyncio.create_task(self._stopping.wait()),
            self._gone,
        }
        try:
            done, _ = await asyncio.wait(
                waiting, timeout=min(seconds, KEEP_ALIVE_SECONDS), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for task in waiting - {self._gone}:
                task.cancel()
        return bool(done)

    def _is_on(self) -> bool:
        return not self._gone.done() and not self._stopping.is_set()

    async def _send_text(self, text: bytes) -> None:
        await self._send({"type": "http.response.body", "body": text, "more_body": True})

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
