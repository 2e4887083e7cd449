"""The web application, for an ASGI server: `granian --interface asgi controlplane.asgi:application`.

Fast paths are answered here; everything else goes to Django through our bridge, as it would under WSGI.
"""

from __future__ import annotations

import resource

from django.conf import settings

from controlplane.wsgi import application as django

# isort: split
# What follows uses models, and only now Django is set up.
from controlplane.events import watchers as events
from controlplane.wsgi_bridge import Application, Bridge, Receive, Scope, Send
from overrides import fast_reads as effective
from registry.fast_heartbeats import FastHeartbeats, is_heartbeat
from registry.fast_joins import JOIN_ROUTE, FastJoins
from registry.publishing.bundle_waiting import is_configuration

# Below the patience of those who stop us: `make up` gives 3 s, the image 20 s.
_DRAIN_SECONDS = 15.0


class Router:
    """One for each process: it holds the threads, what the fast paths keep, and who watches."""

    def __init__(self) -> None:
        self._bridge = Bridge(
            django,
            threads=settings.WEB_THREADS,
            queue=settings.WEB_QUEUE,
            body_limit=max(settings.MAX_BODY_BYTES, settings.MAX_BUNDLE_BYTES),
        )
        self._effective = effective.FastReads(self._bridge, self._bridge.pool)
        self._watchers = events.Watchers(self._bridge)
        self._routes: dict[str, Application] = {events.ROUTE: self._watchers}
        if settings.EFFECTIVE_SNAPSHOT_MIB:
            self._routes[effective.ROUTE] = self._effective
        self._joins = FastJoins(self._bridge) if settings.JOINS_AT_ONCE else None
        if self._joins:
            self._routes[JOIN_ROUTE] = self._joins
        self._heartbeats = FastHeartbeats(self._bridge) if settings.HEARTBEAT_CONNECTIONS else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._heartbeats and is_heartbeat(scope["path"]):
            await self._heartbeats(scope, receive, send)
        elif is_configuration(scope["path"]):
            await self._watchers(scope, receive, send)
        else:
            await self._routes.get(scope["path"], self._bridge)(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        self._watchers.stop()
        if self._heartbeats:
            await self._heartbeats.close()
        if self._joins:
            await self._joins.close()
        await self._effective.close()
        await self._bridge.close(_DRAIN_SECONDS)
        await send({"type": "lifespan.shutdown.complete"})


def _allow_many_connections() -> None:
    """A shell often allows 1,024 open files; each watcher is one."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


_allow_many_connections()
application = Router()
