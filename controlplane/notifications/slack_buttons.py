"""Slack's buttons: a request is trusted by Slack's v0 signature with the channel's signing secret."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from hashlib import sha256
from urllib.parse import parse_qs
from uuid import UUID

import msgspec

from controlplane.delivery.models import Sink
from controlplane.delivery.sink_secrets import secrets_of
from controlplane.identity.actors import system
from controlplane.notifications.alerts import acknowledge_message
from controlplane.notifications.channels import slack
from controlplane.notifications.models import NotificationMessage

# Slack's own advice: older requests are replays.
_OLDEST_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Press:
    """A pressed button. user: as Slack names the person."""

    channel_id: UUID
    message_id: UUID
    user: str


def read_press(body: bytes) -> Press | None:
    """Return the button that was pressed, or None for anything else. Nothing of it is trusted yet."""
    try:
        payload = parse_qs(body.decode(), strict_parsing=True)["payload"][0]
        content = msgspec.json.decode(payload)
        action = content["actions"][0]
        if action["action_id"] != slack.ACKNOWLEDGE:
            return None
        channel, _, message = action["value"].partition("/")
        user = content["user"]
        name = str(user.get("username") or user.get("name") or user.get("id"))
        return Press(UUID(channel), UUID(message), name)
    except (ValueError, KeyError, IndexError, TypeError, AttributeError):
        return None


def is_signed(body: bytes, *, timestamp: str, signature: str, secret: str, now: float) -> bool:
    """True if Slack has signed the body within the last five minutes. Pure."""
    if not (timestamp.isascii() and timestamp.isdigit() and secret):
        return False
    if abs(now - int(timestamp[:12])) > _OLDEST_SECONDS:
        return False
    signed = b"v0:" + timestamp.encode() + b":" + body
    expected = "v0=" + hmac.new(secret.encode(), signed, sha256).hexdigest()
    return hmac.compare_digest(expected.encode(), signature.encode(errors="replace"))


def signing_secret_of(channel_id: UUID) -> str:
    """Return the signing secret of a Slack channel; empty if there is none."""
    channel = Sink.objects.filter(id=channel_id, kind=slack.CHANNEL.kind.name).first()
    return secrets_of(channel).credentials.get("signing_secret", "") if channel else ""


def acknowledge_press(press: Press) -> int:
    """Acknowledge the alerts of the message; return how many. Only what was sent to the channel counts."""
    rows = NotificationMessage.objects.filter(id=press.message_id, channels__contains=[str(press.channel_id)])
    message = rows.first()
    if message is None:
        return 0
    return acknowledge_message(message, actor=system(f"slack/{press.user}"[:50]))
