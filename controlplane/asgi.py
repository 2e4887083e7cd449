"""The web application: `python -m controlplane.serving` serves it, and any ASGI server can.

Our server asks it for the fast path of a request, which answers without ASGI. Everything else goes to Django
through our bridge, as it would under WSGI.
"""

from __future__ import annotations

import asyncio
import resource
from collections.abc import Callable
from typing import TYPE_CHECKING

from django.conf import settings

from controlplane.wsgi import application as django

# isort: split
# What follows uses models, and only now Django is set up.
from controlplane.api.cors import Cors, rules_of
from controlplane.database import silence
from controlplane.endpoints.access import login_gate as gate
from controlplane.endpoints.access.login_gate import LoginGate
from controlplane.endpoints.access.password_queue import PasswordQueue, is_password_request
from controlplane.endpoints.events import streams as events
from controlplane.endpoints.events.watcher_limits import WatcherLimits
from controlplane.extras import is_installed
from controlplane.members.presence import Presence
from controlplane.pools.long_poll import is_lease_path
from controlplane.serving.worker_signals import send_pulses
from controlplane.web.django_bridge import Application, Bridge, Receive, Scope, Send
from controlplane.web.fast_path import FastPath
from controlplane.web.health_answers import HealthAnswers, is_health
from overrides.api.effective.fast_path.handler import ROUTE as EFFECTIVE_ROUTE
from overrides.api.effective.watching.reads import STREAM_ROUTE, WaitingReads
from registry.agent_configs.delivery.long_poll import is_configuration_path
from registry.api.agent_configs.fast_path import FastPolls
from registry.api.heartbeats.fast_path import FastHeartbeats, is_heartbeat
from registry.api.joining.fast_path import JOIN_ROUTE, FastJoins
from registry.dispatch.delivery.fetching import is_fetch_path
from registry.dispatch.resources.long_poll import is_resource_path
from registry.operations.long_poll import is_operation_path

if TYPE_CHECKING:
    from overrides.api.effective.fast_path.handler import FastReads
    from overrides.flyte.fast_path.handler import FlyteReads

# Paths whose requests may wait for an event.
_WAITING = (is_configuration_path, is_fetch_path, is_resource_path, is_lease_path, is_operation_path)
# Without a fast path, effective reads may wait all the same.
_EFFECTIVE = (EFFECTIVE_ROUTE, STREAM_ROUTE)
_METRICS = "/metrics"
# Scrapers that may wait for the thread that answers them.
_SCRAPERS = 16
# Below the patience of those who stop us: `make up` gives 3 s, the image 20 s.
_DRAIN_SECONDS = 15.0


class Router:
    """One for each process: it holds the threads, what the fast paths keep, and who watches."""

    def __init__(self) -> None:
        silence.watch.enable()
        self.bridge = Bridge(
            django,
            threads=settings.WEB_THREADS,
            queue=settings.WEB_QUEUE,
            body_limit=max(settings.MAX_BODY_BYTES, settings.MAX_BUNDLE_BYTES, settings.FLYTE_EVENT_BYTES),
        )
        rules = rules_of(settings.CORS_ALLOWED_ORIGINS, settings.CORS_ALLOWED_HEADERS)
        self._ordinary = Cors(self._route, rules)
        self.health = HealthAnswers()
        self._passwords = PasswordQueue(
            django, self.bridge, threads=settings.PASSWORD_THREADS, queue=settings.PASSWORD_QUEUE
        )
        # Figures must be had while every other thread waits for the database: that is when they are needed.
        self._metrics = Bridge(django, threads=1, queue=_SCRAPERS, body_limit=0, kind="metrics")
        self._login = LoginGate(
            self._login_page, most=settings.LOGIN_REQUESTS_PER_ADDRESS, trusted=settings.TRUSTED_PROXIES
        )
        self.limits = WatcherLimits()
        self._watchers = events.Watchers(self.bridge, self.limits)
        # Fast paths leave requests to this: their responses have CORS headers too.
        left = Cors(self.bridge, rules)
        self.effective = WaitingReads(left, self.bridge.pool, self.limits)
        self.joins = FastJoins(left) if settings.JOINS_AT_ONCE else None
        self.heartbeats = FastHeartbeats(left) if settings.HEARTBEAT_CONNECTIONS else None
        # What is left of these may wait, as a long poll.
        waiting = Cors(self._watchers, rules)
        self.polls = FastPolls(waiting, self.effective.tokens) if settings.CONFIG_POLL_CONNECTIONS else None
        self._fast: dict[str, FastPath] = {}
        self._is_flyte_read, self.flyte = _flyte_reads(left, self.effective)
        if settings.EFFECTIVE_SNAPSHOT_MIB:
            self._fast[EFFECTIVE_ROUTE] = self.effective
        if self.joins:
            self._fast[JOIN_ROUTE] = self.joins

    def fast_path(self, path: str) -> FastPath | None:
        """Return the fast path of a decoded path; None if it has none."""
        if fast_path := self._fast.get(path):
            return fast_path
        if is_heartbeat(path):
            return self.heartbeats
        if self._is_flyte_read(path):
            return self.flyte
        return self.polls if is_configuration_path(path) else None

    def stop(self) -> None:
        """End streams and long polls, which would otherwise go on: the server stops."""
        self._watchers.stop()
        self.effective.stop()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif fast_path := self.fast_path(scope["path"]):
            await fast_path(scope, receive, send)
        elif scope["path"] in _EFFECTIVE:
            await self.effective.watchers(scope, receive, send)
        else:
            await self._ordinary(scope, receive, send)

    async def _route(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope["path"]
        if is_health(path):
            await self.health(scope, receive, send)
        elif path == _METRICS or path.startswith(f"{_METRICS}/"):
            await self._metrics(scope, receive, send)
        elif path in gate.PATHS:
            await self._login(scope, receive, send)
        elif is_password_request(scope):
            await self._passwords(scope, receive, send)
        elif path == events.ROUTE or any(waits(path) for waits in _WAITING):
            await self._watchers(scope, receive, send)
        else:
            await self.bridge(scope, receive, send)

    async def _login_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._passwords if is_password_request(scope) else self.bridge)(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        pulses = asyncio.create_task(send_pulses())
        # After the fork: each worker is a member.
        presence = Presence("web")
        presence.start()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self.stop()
        if self.heartbeats:
            await self.heartbeats.close()
        if self.joins:
            await self.joins.close()
        if self.polls:
            await self.polls.close()
        if self.flyte:
            self.flyte.write_metrics()
        await self.effective.close()
        await self.health.close()
        await asyncio.gather(
            self._passwords.close(_DRAIN_SECONDS),
            self.bridge.close(_DRAIN_SECONDS),
            self._metrics.close(_DRAIN_SECONDS),
            asyncio.to_thread(presence.stop),
        )
        pulses.cancel()
        await send({"type": "lifespan.shutdown.complete"})


def _flyte_reads(django: Application, shared: FastReads) -> tuple[Callable[[str], bool], FlyteReads | None]:
    """Return which paths are reads of Flyte's clients, and their fast path; None without the extra."""
    if not (is_installed("flyte") and settings.EFFECTIVE_SNAPSHOT_MIB):
        return lambda path: False, None
    from overrides.flyte.fast_path import handler, questions

    return questions.is_read, handler.FlyteReads(django, shared)


def _allow_many_connections() -> None:
    """A shell often allows 1,024 open files; each watcher is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


_allow_many_connections()
application = Router()
