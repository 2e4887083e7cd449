"""Health endpoints under ASGI, answered in the event loop without a request thread.

Checks run in their own threads, one at a time for each dependency; a result is cached for a second.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from django.db import close_old_connections, connections

from controlplane.observability.request_ids import choose
from controlplane.web.health import (
    ALIVE,
    CHECKS,
    LIVEZ,
    PATHS,
    Answer,
    Check,
    parse_question,
    passes,
    readiness,
)

_FRESH_SECONDS = 1.0
# A check that takes longer has failed. Below the usual timeout of a probe.
_PATIENCE_SECONDS = 2.0
Message = dict[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


def is_health(path: str) -> bool:
    return path in PATHS


class HealthAnswers:
    """An ASGI application for /livez, /readyz and /startupz."""

    def __init__(self, checks: tuple[Check, ...] = CHECKS) -> None:
        self._threads = {
            name: ThreadPoolExecutor(1, thread_name_prefix=f"health-{name}")
            for name in {check.thread for check in checks}
        }
        self._probes = {check: _Probe(check, self._threads[check.thread]) for check in checks}

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        answer = ALIVE if scope["path"] == LIVEZ else await self._readiness(scope["query_string"])
        request_id = dict(scope["headers"]).get(b"x-request-id")
        headers = [
            (b"content-type", answer.content_type.encode()),
            (b"content-length", str(len(answer.body)).encode()),
            (b"x-request-id", choose(request_id.decode("latin-1") if request_id else None).encode()),
        ]
        await send({"type": "http.response.start", "status": answer.status, "headers": headers})
        body = b"" if scope["method"] == "HEAD" else answer.body
        await send({"type": "http.response.body", "body": body})

    async def close(self) -> None:
        """Close the connections, without waiting for a check that hangs."""
        for thread in self._threads.values():
            thread.submit(connections.close_all)
            thread.shutdown(wait=False)

    async def _readiness(self, query: bytes) -> Answer:
        question = parse_question(query)
        results = await asyncio.gather(*(self._probes[check].passes() for check in question.checks))
        return readiness(question, dict(zip(question.checks, results, strict=True)))


class _Probe:
    """One check: at most one run at a time, with a result that is cached for a second."""

    def __init__(self, check: Check, thread: ThreadPoolExecutor) -> None:
        self._check = check
        self._thread = thread
        self._run: asyncio.Task[bool] | None = None
        self._ended_at = 0.0

    async def passes(self) -> bool:
        loop = asyncio.get_running_loop()
        if self._run is None or (self._run.done() and loop.time() - self._ended_at > _FRESH_SECONDS):
            self._run = loop.create_task(self._run_once())
        done, _ = await asyncio.wait({self._run}, timeout=_PATIENCE_SECONDS)
        return bool(done) and self._run.result()

    async def _run_once(self) -> bool:
        loop = asyncio.get_running_loop()
        try:
            return await loop.run_in_executor(self._thread, _run_check, self._check)
        finally:
            self._ended_at = loop.time()


def _run_check(check: Check) -> bool:
    """Run the check in its thread, with a connection that works, or a new one."""
    close_old_connections()
    try:
        return passes(check)
    finally:
        close_old_connections()
