"""Start-up checks: numbers that must fit together, or the registry lies."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register


@register
def lease_outlives_missed_heartbeats(**kwargs: Any) -> list[CheckMessage]:
    needed = 3 * settings.HEARTBEAT_INTERVAL_SECONDS
    if needed <= settings.LEASE_SECONDS:
        return []
    return [
        Error(
            "LEASE_SECONDS must cover three heartbeat intervals, or one lost packet makes agents flap.",
            hint=f"Set LEASE_SECONDS to at least {needed}, or lower HEARTBEAT_INTERVAL_SECONDS.",
            id="registry.E001",
        )
    ]
