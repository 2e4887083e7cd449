"""Effective values that stay current while a program runs, and remain while the control plane is away.

`make sdk` copies this file into the generated package, beside `portable`, which cpctl uses too.
"""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import AsyncIterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx

from .client import AuthenticatedClient
from .portable.effective_stream import (
    SILENCE_SECONDS,
    Comparison,
    EventReader,
    StreamEvent,
    longest_age,
    must_be_renewed,
    rest_seconds,
)
from .portable.snapshots import Snapshot, SnapshotRefused, read_snapshot
from .problems import Problem
from .snapshots import SNAPSHOT_PATH, is_away, keep_file, problem_of

__all__ = ["EffectiveValues", "Problem", "Snapshot", "SnapshotRefused"]

_STREAM_PATH = "/api/v1/overrides/effective:stream"
_SILENCE = httpx.Timeout(10.0, read=SILENCE_SECONDS)
log = logging.getLogger(__name__)


class EffectiveValues:
    """The effective values of some scopes, kept current in the background.

    Use it as `async with`. It begins with a signed snapshot from the server; where the control plane is away,
    with the one in the file. While it is away later, the last values remain, until they are older than
    `max_age`. path: the file, of this set of scopes alone. keys, max_age: as for `read_snapshot`. asked:
    other fields of the request for snapshots, such as `valid_seconds`.
    """

    def __init__(
        self,
        client: AuthenticatedClient,
        path: str | Path,
        scopes: Sequence[Mapping[str, str]],
        *,
        keys: Sequence[bytes] | None,
        resource_type: str = "",
        max_age: timedelta | None = None,
        **asked: Any,
    ) -> None:
        self._client, self._path = client, Path(path)
        self._scopes = {"scopes": [dict(scope) for scope in scopes], "resource_type": resource_type}
        self._asked, self._keys, self._max_age = asked, keys, max_age
        self._snapshot: Snapshot | None = None
        self._confirmed_at = datetime.min.replace(tzinfo=UTC)
        self._is_live = False
        self._changes = 0
        self._failure: Exception | None = None
        self._news = asyncio.Condition()
        self._task: asyncio.Task[None] | None = None

    async def __aenter__(self) -> EffectiveValues:
        """Raises as `load_or_fetch` does."""
        self._take(await self._load())
        self._task = asyncio.create_task(self._follow())
        return self

    async def __aexit__(self, *error: object) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)

    @property
    def snapshot(self) -> Snapshot:
        """The last snapshot, however old it is."""
        if self._snapshot is None:
            raise RuntimeError("Use EffectiveValues with `async with`.")
        return self._snapshot

    @property
    def is_live(self) -> bool:
        """Whether the control plane confirms the values right now."""
        return self._is_live

    def age(self) -> timedelta:
        """How long ago the control plane has confirmed the values."""
        return datetime.now(UTC) - self._confirmed_at

    def effective(self, scope: Mapping[str, str], resource_type: str) -> dict[str, Any]:
        """Return the attributes of a type at a scope, as `Snapshot.effective`.

        Raises SnapshotRefused if nobody has confirmed them for too long.
        """
        if self.age() > longest_age(self.snapshot, self._max_age):
            raise SnapshotRefused(
                f"The values were confirmed {self.age()} ago, which is too long. Is the control plane away?"
            )
        return self.snapshot.effective(scope, resource_type)

    async def changes(self) -> AsyncIterator[Snapshot]:
        """Yield the snapshot after each change since the start, for ever. Quick changes come as one.

        Raises Problem if the server refuses to go on, such as when the permission was revoked.
        """
        number = 0
        while True:
            async with self._news:
                while self._changes == number and self._failure is None:
                    await self._news.wait()
            if self._changes == number and self._failure is not None:
                raise self._failure
            number = self._changes
            yield self.snapshot

    async def _load(self) -> Snapshot:
        try:
            # Not with the patience of `connect` if the file is at hand.
            return await self._fetch(is_patient=not self._path.exists())
        except (httpx.TransportError, Problem) as error:
            if not (self._path.exists() and is_away(error)):
                raise
            snapshot = read_snapshot(self._path.read_bytes(), self._keys, max_age=self._max_age)
            log.warning("The control plane is away (%s). Using %s.", error, self._path)
            return snapshot

    async def _fetch(self, *, is_patient: bool = False) -> Snapshot:
        """Fetch, verify and keep a snapshot."""
        http = self._client.get_async_httpx_client()
        request = http.build_request("POST", SNAPSHOT_PATH, json={**self._scopes, **self._asked})
        answer = await (http.send(request) if is_patient else httpx.AsyncClient.send(http, request))
        if answer.status_code >= 400:
            raise problem_of(answer)
        snapshot = read_snapshot(answer.content, self._keys, max_age=self._max_age, is_live=True)
        try:
            await asyncio.to_thread(keep_file, self._path, answer.content)
        except OSError as error:
            log.warning("The snapshot cannot be kept in %s: %s.", self._path, error)
        return snapshot

    def _take(self, snapshot: Snapshot) -> bool:
        """Use a snapshot from now on. Return whether its values differ from those before."""
        before, self._snapshot = self._snapshot, snapshot
        self._confirmed_at = datetime.now(UTC) if snapshot.is_live else snapshot.created_at
        return before is not None and _etags(before) != _etags(snapshot)

    async def _follow(self) -> None:
        failed = 0
        while True:
            retry_after = ""
            try:
                async for event, comparison in self._events():
                    if await self._hear(event, comparison):
                        failed = 0
            except (httpx.TransportError, SnapshotRefused, Problem) as error:
                if isinstance(error, Problem) and not is_away(error):
                    return await self._end(error)
                retry_after = getattr(error, "retry_after", "")
                log.warning("The control plane is away (%s). Keeping the values.", error)
            self._is_live = False
            failed += 1
            luck = random.random()  # noqa: S311  (jitter)
            await asyncio.sleep(rest_seconds(failed, luck, retry_after))

    async def _events(self) -> AsyncIterator[tuple[StreamEvent, Comparison]]:
        """Yield the events of one connection."""
        http = self._client.get_async_httpx_client()
        headers = {"Accept": "text/event-stream"}
        request = http.build_request(
            "POST", _STREAM_PATH, json=self._scopes, headers=headers, timeout=_SILENCE
        )
        answer = await httpx.AsyncClient.send(http, request, stream=True)
        try:
            if answer.status_code >= 400:
                await answer.aread()
                raise problem_of(answer)
            reader, comparison = EventReader(), Comparison()
            async for line in answer.aiter_lines():
                if (event := reader.feed(line)) is not None:
                    yield event, comparison
        finally:
            await answer.aclose()

    async def _hear(self, event: StreamEvent, comparison: Comparison) -> bool:
        """Fetch a snapshot if values have changed, or the file gets old. Return whether it was a bookmark."""
        is_outdated = comparison.is_outdated(self.snapshot, event)
        if is_outdated is None:
            return False
        self._is_live = True
        now = datetime.now(UTC)
        if not is_outdated:
            self._confirmed_at = now
        is_due = is_outdated or must_be_renewed(self.snapshot, self._max_age, now)
        if is_due and self._take(await self._fetch()):
            await self._tell()
        return True

    async def _tell(self) -> None:
        async with self._news:
            self._changes += 1
            self._news.notify_all()

    async def _end(self, error: Exception) -> None:
        self._is_live = False
        async with self._news:
            self._failure = error
            self._news.notify_all()


def _etags(snapshot: Snapshot) -> dict[tuple[str, ...], str]:
    return {place: item["etag"] for place, item in snapshot.items.items()}
