"""Start-up checks of settings that depend on each other."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register

from registry.agent_configs.delivery.signatures import unusable


@register
def lease_outlives_missed_heartbeats(**kwargs: Any) -> list[CheckMessage]:
    needed = 3 * settings.HEARTBEAT_INTERVAL_SECONDS
    if needed <= settings.LEASE_SECONDS:
        return []
    return [
        Error(
            "LEASE_SECONDS is less than three heartbeat intervals, so one lost packet makes agents flap.",
            hint=f"Set LEASE_SECONDS to at least {needed}, or lower HEARTBEAT_INTERVAL_SECONDS.",
            id="registry.E001",
        )
    ]


@register
def signing_keys_can_be_used(**kwargs: Any) -> list[CheckMessage]:
    """Check at start rather than when the first data plane fetches its bundle."""
    messages = unusable(settings.AGENT_CONFIGS_SIGNING_KEYS)
    hint = "Generate a key with: openssl genpkey -algorithm ed25519 -out key.pem"
    return [Error(message, hint=hint, id="registry.E002") for message in messages]
