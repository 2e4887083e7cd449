"""Start-up checks of settings that depend on each other."""

from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, Info, register

from controlplane.extras import is_installed
from controlplane.signing_keys import unusable


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


@register
def flyte_is_installed(**kwargs: Any) -> list[CheckMessage]:
    if is_installed("flyte"):
        return []
    absent = "The extra `flyte` is not installed: no Flyte API (HTTP, gRPC), and no probes of agents."
    messages: list[CheckMessage] = [Info(absent, id="registry.I001")]
    if settings.AGENT_PROBES == "gate-new":
        message = "AGENT_PROBES is gate-new, but without the extra `flyte` no agent can be probed."
        messages.append(
            Error(message, hint="Install the extra, or set AGENT_PROBES to off.", id="registry.E003")
        )
    return messages
