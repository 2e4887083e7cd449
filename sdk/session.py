"""What the generated client leaves to its users: tries, keys, pages, changes over what was seen, a watch.

`make sdk` puts this file into the generated package, beside `portable`, which cpctl uses too.
"""

from __future__ import annotations

import asyncio
import random
import time
import uuid
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Mapping
from types import ModuleType
from typing import Any

import httpx

from .client import AuthenticatedClient
from .portable.conflicts import retry_on_conflict
from .portable.paging import every_item
from .portable.retries import pause, repeatable
from .portable.streams import SILENCE_SECONDS, Reader, follow
from .problems import Problem, checked

__all__ = [
    "Problem",
    "checked",
    "connect",
    "every",
    "every_async",
    "update_with_etag",
    "watch",
    "watch_async",
]

_AGENT = "controlplane-client/0.1.0"
_SECONDS = 10.0
_EVENTS = "/api/v1/events"
# Nothing is about such an object: the answer is short, and tells how far the log goes.
_LAST = {"limit": "1", "object_type": "none"}
_STREAM = {"Accept": "text/event-stream"}
_SILENCE = httpx.Timeout(_SECONDS, read=SILENCE_SECONDS)
Token = str | Callable[[], str]
OnGap = Callable[[int], object]


def connect(url: str, token: Token, *, timeout: float = _SECONDS, **options: Any) -> AuthenticatedClient:
    """A client, sync and async, that tries again and sends keys by itself.

    token: itself, or what gives one; it is asked again when a token is refused. options: for httpx.
    """
    client = AuthenticatedClient(base_url=url, token="")
    shared = {
        "base_url": url,
        "auth": _Bearer(token),
        "timeout": timeout,
        "headers": {"User-Agent": _AGENT},
        **options,
    }
    client.set_httpx_client(_Patient(**shared))
    client.set_async_httpx_client(_AsyncPatient(**shared))
    return client


def every(operation: ModuleType, *, client: AuthenticatedClient, **asked: Any) -> Iterator[Any]:
    """Every item of a list: `every(agents_list, client=client, environment="prod")`."""

    def page(cursor: str) -> tuple[list[Any], str]:
        more = {"cursor": cursor} if cursor else {}
        found = checked(operation.sync_detailed(client=client, **{**asked, **more}))
        return found.items, found.next_cursor or ""

    return every_item(page)


async def every_async(
    operation: ModuleType, *, client: AuthenticatedClient, **asked: Any
) -> AsyncIterator[Any]:
    """Every item of a list, without blocking."""
    more: dict[str, str] = {}
    while True:
        found = checked(await operation.asyncio_detailed(client=client, **{**asked, **more}))
        for item in found.items:
            yield item
        if not found.next_cursor:
            return
        more = {"cursor": found.next_cursor}


def update_with_etag(read: Callable[[], Any], write: Callable[[Any, str], Any]) -> Any:
    """Change what stands. read: a detailed answer. write: puts the change, given what stands and its ETag.

    Both are called again when somebody came between.
    """

    def attempt(seen: Any) -> Any:
        return checked(write(checked(seen), seen.headers["ETag"]))

    return retry_on_conflict(read(), attempt, lambda current: read(), is_conflict=_came_first)


def watch(
    client: AuthenticatedClient, *, after: int | None = None, on_gap: OnGap | None = None, **filters: str
) -> Iterator[Any]:
    """Yield events as they happen, for ever: from now on, or after a number. Goes on where it broke.

    on_gap: called with the number of the oldest kept event when events before it were dropped, to read the
    resources again; the watch then goes on with that event. Without it, Problem is raised.
    """
    http = client.get_httpx_client()
    if after is None:
        after = int(_checked_answer(http.get(_EVENTS, params=_LAST))["next_after"])
    return follow(
        lambda seq: _lines(http, {**filters, "after": str(seq)}),
        after=after,
        breaks=_BREAKS,
        rest=lambda failed, error: _skip_gap(error, on_gap) or time.sleep(_rest(failed, error)),
    )


async def watch_async(
    client: AuthenticatedClient, *, after: int | None = None, on_gap: OnGap | None = None, **filters: str
) -> AsyncIterator[Any]:
    """Yield events as they happen, for ever, without blocking. on_gap: as for `watch`."""
    http = client.get_async_httpx_client()
    if after is None:
        after = int(_checked_answer(await http.get(_EVENTS, params=_LAST))["next_after"])
    failed = 0
    while True:
        try:
            async for seq, event in _events(http, {**filters, "after": str(after)}):
                failed, after = 0, seq
                if event is not None:
                    yield event
        except _BREAKS as error:
            failed += 1
            if (kept := _skip_gap(error, on_gap)) is None:
                await asyncio.sleep(_rest(failed, error))
            else:
                after = kept


_BREAKS = (httpx.TransportError, Problem)


class _Bearer(httpx.Auth):
    """The token, and where it can be asked for, a new one when it is refused."""

    def __init__(self, token: Token) -> None:
        self._token = token

    def auth_flow(self, request: httpx.Request) -> Generator[httpx.Request, httpx.Response, None]:
        if not callable(self._token):
            request.headers["Authorization"] = f"Bearer {self._token}"
            yield request
            return
        request.headers["Authorization"] = f"Bearer {self._token()}"
        answer = yield request
        if answer.status_code == 401:
            request.headers["Authorization"] = f"Bearer {self._token()}"
            yield request


class _Tries:
    """One request and its tries."""

    def __init__(self, request: httpx.Request) -> None:
        if request.method == "POST":
            request.headers.setdefault("Idempotency-Key", str(uuid.uuid4()))
        self._again = repeatable(request.method, request.headers)
        self._tried = 0

    def pause(self, answer: httpx.Response | None) -> float | None:
        """Seconds until the next try; None: this was the last. No answer: the connection failed."""
        self._tried += 1
        status, after = (0, "") if answer is None else (answer.status_code, _retry_after(answer))
        code = "" if answer is None else _code(answer)
        luck = random.random()  # noqa: S311  (jitter)
        return pause(self._tried, status, again=self._again, retry_after=after, luck=luck, code=code)


class _Patient(httpx.Client):
    def send(self, request: httpx.Request, **named: Any) -> httpx.Response:
        tries = _Tries(request)
        while True:
            try:
                answer, failed = super().send(request, **named), None
            except httpx.TransportError as error:
                answer, failed = None, error
            if (wait := tries.pause(answer)) is None:
                return _given(answer, failed)
            if answer is not None:
                answer.close()
            time.sleep(wait)


class _AsyncPatient(httpx.AsyncClient):
    async def send(self, request: httpx.Request, **named: Any) -> httpx.Response:
        tries = _Tries(request)
        while True:
            try:
                answer, failed = await super().send(request, **named), None
            except httpx.TransportError as error:
                answer, failed = None, error
            if (wait := tries.pause(answer)) is None:
                return _given(answer, failed)
            if answer is not None:
                await answer.aclose()
            await asyncio.sleep(wait)


def _given(answer: httpx.Response | None, failed: httpx.TransportError | None) -> httpx.Response:
    if answer is None:
        raise failed or RuntimeError("neither an answer nor an error")
    return answer


def _came_first(error: Exception) -> bool:
    return isinstance(error, Problem) and error.status == 412


def _lines(http: httpx.Client, query: Mapping[str, str]) -> Iterator[str]:
    with http.stream("GET", _EVENTS, params=query, headers=_STREAM, timeout=_SILENCE) as answer:
        if answer.status_code >= 400:
            answer.read()
            _checked_answer(answer)
        yield from answer.iter_lines()


async def _events(http: httpx.AsyncClient, query: Mapping[str, str]) -> AsyncIterator[tuple[int, Any]]:
    reader = Reader()
    async with http.stream("GET", _EVENTS, params=query, headers=_STREAM, timeout=_SILENCE) as answer:
        if answer.status_code >= 400:
            await answer.aread()
            _checked_answer(answer)
        async for line in answer.aiter_lines():
            if (event := reader.feed(line)) is not None:
                yield event


def _skip_gap(error: Exception, on_gap: OnGap | None) -> int | None:
    """Return the number to go on after if events were dropped and the caller handles that."""
    if on_gap is None or not isinstance(error, Problem) or not isinstance(error.oldest_seq, int):
        return None
    on_gap(error.oldest_seq)
    return error.oldest_seq - 1


def _rest(failed: int, error: Exception) -> float:
    """Seconds before coming back. Raises where that would not help."""
    status, after = (error.status, error.retry_after) if isinstance(error, Problem) else (0, "")
    wait = pause(failed, status, again=True, retry_after=after, luck=random.random())  # noqa: S311  (jitter)
    if wait is None:
        raise error
    return wait


def _checked_answer(answer: httpx.Response) -> Any:
    if answer.status_code < 400:
        return answer.json()
    try:
        document = answer.json()
    except ValueError:
        document = {}
    raise Problem(answer.status_code, document if isinstance(document, dict) else {}, _retry_after(answer))


def _code(answer: httpx.Response) -> str:
    """Return the code of a problem document; empty if it is none, or a stream."""
    try:
        return str(answer.json()["code"]) if answer.status_code >= 400 else ""
    except (httpx.ResponseNotRead, ValueError, TypeError, KeyError):
        return ""


def _retry_after(answer: httpx.Response) -> str:
    return str(answer.headers.get("Retry-After", ""))
