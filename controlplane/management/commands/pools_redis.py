from __future__ import annotations

import asyncio
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from controlplane.members.presence import present
from controlplane.observability.process_pages import serve_metrics
from controlplane.pools.redis_door.commands import DoorOptions
from controlplane.pools.redis_door.server import Address, RedisDoor
from controlplane.serving.stop_signals import StopSignals


class Command(BaseCommand):
    help = "Serve resource pools to FlytePropellers that keep them in Redis, until stopped."

    def handle(self, *args: Any, **options: Any) -> None:
        serve_metrics("pools-redis")
        try:
            asyncio.run(self._serve())
        except OSError as error:
            raise CommandError(
                f"Cannot listen on {settings.POOLS_REDIS_ADDRESS}:{settings.POOLS_REDIS_PORT}: {error}."
                " Set POOLS_REDIS_PORT to a free port."
            ) from error

    async def _serve(self) -> None:
        signals = StopSignals()
        door = RedisDoor(
            Address(settings.POOLS_REDIS_ADDRESS, settings.POOLS_REDIS_PORT),
            DoorOptions(settings.POOLS_REDIS_TRUE_COUNTS, settings.POOLS_REDIS_DEFAULT_CAPACITY),
            threads=settings.POOLS_REDIS_THREADS,
        )
        port = await door.start()
        self.stdout.write(f"Pools for Redis clients on {settings.POOLS_REDIS_ADDRESS}:{port}")
        self.stdout.flush()
        with present("pools-redis"):
            await signals.wait()
            await signals.leave(settings.LEAVE_SECONDS)
            await door.stop()
