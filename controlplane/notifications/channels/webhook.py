"""Webhooks as channels: messages as signed CloudEvents of type `dev.controlplane.notification.message.v1`."""

from __future__ import annotations

from controlplane.delivery.kinds import SinkKind
from controlplane.delivery.webhooks import WEBHOOK
from controlplane.notifications.channels.registry import Channel, register_channel

# Sinks of the kind `webhook` get events; these get messages.
CHANNEL = register_channel(
    Channel("webhook", SinkKind("webhook-channel", WEBHOOK.check, WEBHOOK.open, is_signed=True))
)
