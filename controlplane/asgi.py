"""The web application, for an ASGI server: `granian --interface asgi controlplane.asgi:application`.

Fast paths are answered here; everything else goes to Django through our bridge, as it would under WSGI.
"""

from __future__ import annotations

from django.conf import settings

from controlplane.wsgi import application as django
from controlplane.wsgi_bridge import Bridge, Receive, Scope, Send
from overrides.fast_reads import ROUTE, FastReads
from registry.fast_heartbeats import FastHeartbeats, is_heartbeat

# Below the patience of those who stop us: `make up` gives 3 s, the image 20 s.
_DRAIN_SECONDS = 15.0


class Router:
    """One for each process: it holds the threads, and what the fast paths keep."""

    def __init__(self) -> None:
        self._bridge = Bridge(
            django,
            threads=settings.WEB_THREADS,
            queue=settings.WEB_QUEUE,
            body_limit=max(settings.MAX_BODY_BYTES, settings.MAX_BUNDLE_BYTES),
        )
        self._effective = FastReads(self._bridge, self._bridge.pool)
        self._fast_routes = {ROUTE: self._effective} if settings.EFFECTIVE_SNAPSHOT_MIB else {}
        self._heartbeats = FastHeartbeats(self._bridge) if settings.HEARTBEAT_CONNECTIONS else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._live(receive, send)
        elif self._heartbeats and is_heartbeat(scope["path"]):
            await self._heartbeats(scope, receive, send)
        else:
            await self._fast_routes.get(scope["path"], self._bridge)(scope, receive, send)

    async def _live(self, receive: Receive, send: Send) -> None:
        await receive()
        await send({"type": "lifespan.startup.complete"})
        await receive()
        if self._heartbeats:
            await self._heartbeats.close()
        await self._effective.close()
        await self._bridge.close(_DRAIN_SECONDS)
        await send({"type": "lifespan.shutdown.complete"})


application = Router()
