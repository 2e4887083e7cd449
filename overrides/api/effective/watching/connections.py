"""Streams, and long polls that are not plain, in front of Django: a connection and a task each, no thread.

Django handles the request first, and again when an answer has changed or the caller's rights may have.
"""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence

from controlplane.endpoints.events.held_requests import (
    FirstResponse,
    RepeatableBody,
    ask_django,
    too_many_response,
)
from controlplane.endpoints.events.watch_header import AGAIN
from controlplane.endpoints.events.watcher_limits import WatcherLimits
from controlplane.web.django_bridge import Application, Message, Receive, Send
from overrides.api.effective.fast_path.revision_connection import RevisionState
from overrides.api.effective.watching.handed_watch import (
    HandedWatch,
    effective_events,
    event_id,
    watch_from,
)
from overrides.api.effective.watching.hub import Hub, Watcher
from overrides.api.effective.watching.topics import News, TopicKey

# In the scope of a request: called with status and headers of Django's response before the request waits.
LEARN = "controlplane.learn"
# Proxies close connections after a minute without data.
_KEEP_ALIVE_SECONDS = 15.0
# Tokens also expire, which changes nothing in the database.
_REAUTHORIZE_SECONDS = 300.0


class EffectiveWatchers:
    """limits: shared with the other watchers of the process."""

    def __init__(self, django: Application, hub: Hub, limits: WatcherLimits) -> None:
        self._django, self._hub, self._limits = django, hub, limits
        self._open: set[_Connection] = set()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if not may_wait(scope):
            await self._django(scope, receive, send)
            return
        body, access = RepeatableBody(receive), self._hub.access
        response = await ask_django(self._django, scope, body.first)
        if response.watch is None or self._hub.is_stopping:
            await response.send_unchanged(send)
            return
        if learn := scope.get(LEARN):
            learn(response.status, response.headers)
        watch = watch_from(response.watch)
        if not self._limits.enter(watch.principal):
            await too_many_response().send(send)
            return
        connection = _Connection(self._hub, receive)
        self._open.add(connection)
        try:
            connection.join(watch.topics(), is_rechecked=access == self._hub.access)
            await _Request(self._django, connection, body, scope, send).run(response, watch)
        finally:
            self._open.discard(connection)
            connection.close()
            self._limits.leave(watch.principal)

    def stop(self) -> None:
        """End all: the process stops, and the clients ask another one."""
        for connection in self._open:
            connection.end()


def may_wait(scope: Message) -> bool:
    """Return whether Django may hand over a watch of the request."""
    return scope["method"] == "POST" or b"wait=" in scope["query_string"]


class _Connection(Watcher):
    """One open connection. must_ask: Django must handle the request again. is_refused: and say why not."""

    def __init__(self, hub: Hub, receive: Receive) -> None:
        self._hub, self._receive = hub, receive
        self._woken = asyncio.Event()
        # The latest of each scope: a slow reader needs no more.
        self._news: dict[TopicKey, News] = {}
        self._joined = 0
        self.is_on, self.must_ask, self.is_refused = True, False, False
        self._gone = asyncio.create_task(self._until_gone())

    def join(self, etags: dict[TopicKey, bytes], *, is_rechecked: bool = True) -> None:
        """Wait for other answers than these, instead of those before."""
        self._hub.leave(self)
        self._joined = self._hub.join(self, etags)
        if not is_rechecked:
            self.must_ask = True
            self._woken.set()

    def tell(self, news: Sequence[News]) -> None:
        if any(each.answer.is_refused for each in news):
            self.must_ask = self.is_refused = True
        self._news |= {each.key: each for each in news}
        self._woken.set()

    def recheck(self, state: RevisionState) -> None:
        self.must_ask = True
        self._woken.set()

    async def wait(self, seconds: float) -> bool:
        """True if something happened; False if the time is over."""
        try:
            await asyncio.wait_for(self._woken.wait(), seconds)
        except TimeoutError:
            return False
        self._woken.clear()
        return True

    def take(self) -> tuple[list[News], int]:
        """Take the news, and the revision up to which they are complete; 0 if it is unknown."""
        news, self._news = list(self._news.values()), {}
        return news, self._hub.revision if self._hub.revision_round > self._joined else 0

    def end(self) -> None:
        self.is_on = False
        self._woken.set()

    def is_gone(self) -> bool:
        """Return whether the client is gone."""
        return self._gone.done()

    def close(self) -> None:
        self._gone.cancel()
        self._hub.leave(self)

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass
        self.end()


class _Request:
    """The request of a connection."""

    def __init__(
        self, django: Application, connection: _Connection, body: RepeatableBody, scope: Message, send: Send
    ) -> None:
        self._django, self._connection, self._body = django, connection, body
        self._scope, self._send = scope, send

    async def run(self, response: FirstResponse, watch: HandedWatch) -> None:
        await (self._poll(response, watch.wait) if watch.wait else self._stream(response, watch))

    async def _poll(self, response: FirstResponse, seconds: int) -> None:
        """Respond when the answer has changed, or when the time is over."""
        loop, connection = asyncio.get_running_loop(), self._connection
        until = loop.time() + seconds
        while (left := until - loop.time()) > 0 and await connection.wait(left) and connection.is_on:
            connection.must_ask = connection.is_refused = False
            connection.take()
            response = await ask_django(self._django, self._scope, self._body.again)
            if response.watch is None:
                break
            connection.join(watch_from(response.watch).topics())
        await response.send_unchanged(self._send)

    async def _stream(self, response: FirstResponse, watch: HandedWatch) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": response.held_headers})
        await self._send_text(response.body)
        revision, connection, must_ask_at = watch.revision, self._connection, _next_reauthorization()
        while connection.is_on:
            await connection.wait(_KEEP_ALIVE_SECONDS)
            must_ask = connection.must_ask or asyncio.get_running_loop().time() > must_ask_at
            # At the end of the process, a bookmark is the last: the client continues there at another one.
            if must_ask and connection.is_on:
                must_ask_at = _next_reauthorization()
                response = await self._continue_from(event_id(revision, watch.defaults))
                if response.watch is None:
                    break
                again = watch_from(response.watch)
                if again.etags is not None:
                    connection.take()
                    connection.join(again.topics())
                    revision = again.revision
                    await self._send_text(response.body)
                    continue
            news, complete_until = connection.take()
            revision = max(revision, complete_until)
            bodies = [each.answer.body for each in news]
            await self._send_text(effective_events(bodies, revision, watch.defaults))
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _continue_from(self, last_event_id: str) -> FirstResponse:
        """Have Django handle the request again, with the caller's current rights."""
        headers = [(name, value) for name, value in self._scope["headers"] if name != b"last-event-id"]
        headers.append((b"last-event-id", last_event_id.encode()))
        if not self._connection.is_refused:
            headers.append(AGAIN)
        self._connection.must_ask = self._connection.is_refused = False
        return await ask_django(self._django, {**self._scope, "headers": headers}, self._body.again)

    async def _send_text(self, text: bytes) -> None:
        if not self._connection.is_gone():
            await self._send({"type": "http.response.body", "body": text, "more_body": True})


def _next_reauthorization() -> float:
    # With jitter: many streams may have begun at the same time.
    seconds = _REAUTHORIZE_SECONDS * random.uniform(0.7, 1.3)  # noqa: S311  (jitter)
    return asyncio.get_running_loop().time() + seconds
