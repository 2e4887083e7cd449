"""PagerDuty: incidents by the Events API v2, one per message (`dedup_key`)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import msgspec
from django.conf import settings

from controlplane.delivery.https_exchange import exchange
from controlplane.delivery.kinds import Message, Sent, SinkKind, SinkSecrets, invalid_setting
from controlplane.notifications.channels.registry import Channel, register_channel
from controlplane.notifications.event_types import Step

_MOST_SUMMARY = 1024
_ROUTING_KEY_LENGTH = 32
_ACTIONS = {Step.TRIGGER: "trigger", Step.ACKNOWLEDGE: "acknowledge", Step.RESOLVE: "resolve"}
# The Events API tells errors from warnings; we do not.
_SEVERITIES = {"info": "info", "warning": "warning", "critical": "critical"}


@dataclass(frozen=True, slots=True)
class PagerDuty:
    """A service's integration."""

    routing_key: str

    def send(self, message: Message) -> Sent:
        body = msgspec.json.encode(incident_event(message, self.routing_key))
        headers = {"Content-Type": "application/json"}
        url = f"{settings.PAGERDUTY_URL.rstrip('/')}/v2/enqueue"
        answered = exchange(url, body, headers, seconds=settings.WEBHOOK_TIMEOUT_SECONDS)
        return Sent(answered.answer, headers, answered.response, answered.tls)

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""


def incident_event(message: Message, routing_key: str) -> dict[str, Any]:
    """Return the request of the Events API."""
    data = message.event.data
    action = _ACTIONS.get(Step(data.get("step", "trigger")), "trigger")
    head = {"routing_key": routing_key, "event_action": action, "dedup_key": message.key}
    if action != "trigger":
        return head
    return {
        **head,
        "client": "Controlplane",
        "client_url": data.get("url", ""),
        "payload": {
            "summary": data["subject"][:_MOST_SUMMARY],
            "source": message.origin.name,
            "severity": _SEVERITIES.get(data["severity"], "error"),
            "timestamp": message.event.at.isoformat(),
            "component": data["rule"],
            "custom_details": {"text": data["text"], "alerts": data["total"], "firing": data["firing"]},
        },
    }


def _check(config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
    key = credentials.get("routing_key", "")
    if len(key) != _ROUTING_KEY_LENGTH or not key.isalnum():
        raise invalid_setting(
            "/credentials/routing_key",
            "PagerDuty's routing key has 32 letters and digits. See the integrations of the service.",
        )


def _open(config: Mapping[str, Any], secrets: SinkSecrets) -> PagerDuty:
    return PagerDuty(secrets.credentials.get("routing_key", ""))


def _steps(config: Mapping[str, Any]) -> frozenset[Step]:
    return frozenset(_ACTIONS)


CHANNEL = register_channel(Channel("pagerduty", SinkKind("pagerduty", _check, _open), _steps))
