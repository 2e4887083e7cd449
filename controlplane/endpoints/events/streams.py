"""Watch the event log: streams and long polls that hold a connection and no thread.

Django decides first: it authenticates, checks the question and answers what there is. If the answer says in a
header that somebody wants to hear more, we take that header off and go on from there. Whenever the rights of
somebody may have changed, and when a watcher has fallen behind, Django is asked again.
"""

from __future__ import annotations

import asyncio
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any

from django.conf import settings

from controlplane.api.problems import plain_response
from controlplane.endpoints.events.feed import Feed
from controlplane.endpoints.events.watch_header import HEADER, PROOF
from controlplane.errors import TooManyAttempts
from controlplane.events.stream_protocol import Watch, bookmark, watch_from
from controlplane.web.django_bridge import Application, Message, Receive, Send

ROUTE = "/api/v1/events"
_WAIT = re.compile(rb"(?<![^&])wait=[^&]*&?")
# Proxies close connections that are silent for a minute.
KEEP_ALIVE_SECONDS = 15.0
# Tokens end by time too, which changes nothing in the database.
_ASK_AGAIN_SECONDS = 300.0
_HEADER = HEADER.lower().encode()


@dataclass(frozen=True, slots=True)
class _Answer:
    """What Django said. watch: if there is more to hear."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes
    watch: Watch | None

    async def send(self, send: Send) -> None:
        headers = self.headers
        # Of a 304 it would be the length of what is not sent.
        if self.status != HTTPStatus.NOT_MODIFIED:
            headers = [*headers, (b"content-length", str(len(self.body)).encode())]
        await send({"type": "http.response.start", "status": self.status, "headers": headers})
        await send({"type": "http.response.body", "body": self.body})


class Watchers:
    def __init__(self, django: Application) -> None:
        self._django = django
        self._feed = Feed()
        self._by_principal: Counter[str] = Counter()
        self._stopping = asyncio.Event()

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        answer = await self._ask(scope, receive)
        if answer.watch is None:
            await answer.send(send)
            return
        whose = answer.watch.principal
        if not self._has_room(whose):
            await _too_many().send(send)
            return
        self._by_principal[whose] += 1
        self._feed.join()
        try:
            await _Watcher(self._feed, self._ask, self._stopping, scope, receive, send).run(answer)
        finally:
            self._feed.leave()
            self._by_principal[whose] -= 1

    def stop(self) -> None:
        """Let everybody go; they come back, to another process, and miss nothing."""
        self._stopping.set()
        self._feed.close()

    def _has_room(self, principal: str) -> bool:
        return (
            self._by_principal[principal] < settings.WATCHERS_PER_PRINCIPAL
            and self._by_principal.total() < settings.WATCHERS_PER_WORKER
        )

    async def _ask(self, scope: Message, receive: Receive) -> _Answer:
        said: list[Message] = []

        async def keep(message: Message) -> None:
            said.append(message)

        await self._django({**scope, "headers": [*scope["headers"], PROOF]}, receive, keep)
        status, headers = 499, []
        if said:
            status, headers = said[0]["status"], list(said[0]["headers"])
        marks = [value for name, value in headers if name == _HEADER]
        body = b"".join(one.get("body", b"") for one in said[1:])
        kept = [(name, value) for name, value in headers if name not in (_HEADER, b"content-length")]
        return _Answer(status, kept, body, watch_from(marks[0]) if marks else None)


class _Watcher:
    """One connection that is held open."""

    def __init__(
        self,
        feed: Feed,
        ask: Callable[[Message, Receive], Awaitable[_Answer]],
        stopping: asyncio.Event,
        *connection: Any,
    ) -> None:
        self._feed, self._ask, self._stopping = feed, ask, stopping
        self._scope, self._receive, self._send = connection
        self._access = feed.access
        self._ask_at = 0.0
        self._gone = asyncio.create_task(self._until_gone())

    async def run(self, answer: _Answer) -> None:
        try:
            if answer.watch and answer.watch.wait:
                await self._poll(answer, answer.watch)
            else:
                await self._stream(answer)
        finally:
            self._gone.cancel()

    async def _poll(self, answer: _Answer, watch: Watch) -> None:
        """Answer when there is something to tell, or when the time is over."""
        loop = asyncio.get_running_loop()
        until = loop.time() + watch.wait
        after = watch.after
        while (left := until - loop.time()) > 0 and self._is_on():
            news = self._feed.news
            if self._feed.is_ahead_of(after):
                if not self._feed.reaches_back_to(after) or any(map(watch.wants, self._feed.since(after))):
                    answer = await self._again(after, waits=False)
                    break
                after = self._feed.last or after
            await self._wait(news, left)
        await answer.send(self._send)

    async def _stream(self, answer: _Answer) -> None:
        await self._send({"type": "http.response.start", "status": 200, "headers": answer.headers})
        self._noted()
        while answer.watch is not None and self._is_on():
            after = answer.watch.after
            await self._tell(answer.body)
            after = await self._follow(answer.watch, after)
            if self._is_on():
                answer = await self._again(after)
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _follow(self, watch: Watch, after: int) -> int:
        """Tell what comes, until Django has to be asked again; return the last number told."""
        while self._is_on() and not self._must_ask():
            news = self._feed.news
            if self._feed.is_ahead_of(after):
                if not self._feed.reaches_back_to(after):
                    return after
                wanted = [told.text for told in self._feed.since(after) if watch.wants(told)]
                after = self._feed.last or after
                if wanted:
                    await self._tell(b"".join(wanted))
            if not await self._wait(news, KEEP_ALIVE_SECONDS):
                await self._tell(bookmark(after))
        return after

    async def _again(self, after: int, *, waits: bool = True) -> _Answer:
        """Ask Django what came after, with the rights that hold now."""
        self._noted()
        headers = [(name, value) for name, value in self._scope["headers"] if name != b"last-event-id"]
        headers.append((b"last-event-id", str(after).encode()))
        query = self._scope["query_string"]
        query = query if waits else _WAIT.sub(b"", query)
        return await self._ask({**self._scope, "headers": headers, "query_string": query}, _nothing)

    def _noted(self) -> None:
        self._access = self._feed.access
        # Not all at once: ten thousand watchers may have come together.
        self._ask_at = asyncio.get_running_loop().time() + _ASK_AGAIN_SECONDS * random.uniform(0.7, 1.3)  # noqa: S311  (jitter)

    def _must_ask(self) -> bool:
        rights_changed = bool(self._feed.access) and self._feed.access != self._access
        return rights_changed or asyncio.get_running_loop().time() > self._ask_at

    async def _wait(self, news: asyncio.Event, seconds: float) -> bool:
        """True when there may be something; False when the time is over."""
        waiting = {asyncio.create_task(news.wait()), asyncio.create_task(self._stopping.wait()), self._gone}
        try:
            done, _ = await asyncio.wait(
                waiting, timeout=min(seconds, KEEP_ALIVE_SECONDS), return_when=asyncio.FIRST_COMPLETED
            )
        finally:
            for one in waiting - {self._gone}:
                one.cancel()
        return bool(done)

    def _is_on(self) -> bool:
        return not self._gone.done() and not self._stopping.is_set()

    async def _tell(self, text: bytes) -> None:
        await self._send({"type": "http.response.body", "body": text, "more_body": True})

    async def _until_gone(self) -> None:
        while (await self._receive())["type"] != "http.disconnect":
            pass


async def _nothing() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


def _too_many() -> _Answer:
    response = plain_response(
        TooManyAttempts("Too many watches are open. Close some, or come back in a minute.")
    )
    headers = [(name.lower().encode(), value.encode()) for name, value in response.items()]
    return _Answer(response.status_code, [*headers, (b"retry-after", b"60")], response.content, None)
