"""Channels: how messages reach people. Each is a kind of sink that gets messages alone."""

from controlplane.notifications.channels import email, other_services, pagerduty, slack, webhook
from controlplane.notifications.channels.registry import (
    ALL_STEPS,
    Channel,
    channel_named,
    channel_names,
    stored_kind,
)

__all__ = [
    "ALL_STEPS",
    "Channel",
    "channel_named",
    "channel_names",
    "email",
    "other_services",
    "pagerduty",
    "slack",
    "stored_kind",
    "webhook",
]
