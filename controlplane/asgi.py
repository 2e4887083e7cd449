"""The web application, for an ASGI server: `python -m controlplane.serving controlplane.asgi:application`.

Fast paths are answered here; everything else goes to Django through our bridge, as it would under WSGI.
"""

from __future__ import annotations

import asyncio
import resource

from django.conf import settings

from controlplane.wsgi import application as django

# isort: split
# What follows uses models, and only now Django is set up.
from controlplane.api.cors import Cors, rules_of
from controlplane.endpoints.access import login_gate as gate
from controlplane.endpoints.access.login_gate import LoginGate
from controlplane.endpoints.access.password_queue import PasswordQueue, is_password_request
from controlplane.endpoints.events import streams as events
from controlplane.serving.worker_signals import send_pulses
from controlplane.web.django_bridge import Application, Bridge, Receive, Scope, Send
from controlplane.web.health_answers import HealthAnswers, is_health
from overrides.api.effective.fast_path import handler as effective
from registry.agent_configs.delivery.long_poll import is_configuration_path
from registry.api.heartbeats.fast_path import FastHeartbeats, is_heartbeat
from registry.api.joining.fast_path import JOIN_ROUTE, FastJoins
from registry.dispatch.delivery.fetching import is_fetch_path
from registry.dispatch.resources.long_poll import is_resource_path

# Paths whose requests may wait for an event.
_WAITING = (is_configuration_path, is_fetch_path, is_resource_path)
# Below the patience of those who stop us: `make up` gives 3 s, the image 20 s.
_DRAIN_SECONDS = 15.0


class Router:
    """One for each process: it holds the threads, what the fast paths keep, and who watches."""

    def __init__(self) -> None:
        self.bridge = Bridge(
            django,
            threads=settings.WEB_THREADS,
            queue=settings.WEB_QUEUE,
            body_limit=max(settings.MAX_BODY_BYTES, settings.MAX_BUNDLE_BYTES),
        )
        self.health = HealthAnswers()
        self._passwords = PasswordQueue(
            django, self.bridge, threads=settings.PASSWORD_THREADS, queue=settings.PASSWORD_QUEUE
        )
        self._login = LoginGate(
            self._login_page, most=settings.LOGIN_REQUESTS_PER_ADDRESS, trusted=settings.TRUSTED_PROXIES
        )
        self.effective = effective.FastReads(self.bridge, self.bridge.pool)
        self._watchers = events.Watchers(self.bridge)
        self._routes: dict[str, Application] = {events.ROUTE: self._watchers}
        if settings.EFFECTIVE_SNAPSHOT_MIB:
            self._routes[effective.ROUTE] = self.effective
        self.joins = FastJoins(self.bridge) if settings.JOINS_AT_ONCE else None
        if self.joins:
            self._routes[JOIN_ROUTE] = self.joins
        self.heartbeats = FastHeartbeats(self.bridge) if settings.HEARTBEAT_CONNECTIONS else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif is_health(scope["path"]):
            await self.health(scope, receive, send)
        elif scope["path"] in gate.PATHS:
            await self._login(scope, receive, send)
        elif is_password_request(scope):
            await self._passwords(scope, receive, send)
        elif self.heartbeats and is_heartbeat(scope["path"]):
            await self.heartbeats(scope, receive, send)
        elif any(waits(scope["path"]) for waits in _WAITING):
            await self._watchers(scope, receive, send)
        else:
            await self._routes.get(scope["path"], self.bridge)(scope, receive, send)

    async def _login_page(self, scope: Scope, receive: Receive, send: Send) -> None:
        await (self._passwords if is_password_request(scope) else self.bridge)(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        pulses = asyncio.create_task(send_pulses())
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._watchers.stop()
        if self.heartbeats:
            await self.heartbeats.close()
        if self.joins:
            await self.joins.close()
        await self.effective.close()
        await self.health.close()
        await asyncio.gather(self._passwords.close(_DRAIN_SECONDS), self.bridge.close(_DRAIN_SECONDS))
        pulses.cancel()
        await send({"type": "lifespan.shutdown.complete"})


def _allow_many_connections() -> None:
    """A shell often allows 1,024 open files; each watcher is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


_allow_many_connections()
application = Cors(Router(), rules_of(settings.CORS_ALLOWED_ORIGINS, settings.CORS_ALLOWED_HEADERS))
