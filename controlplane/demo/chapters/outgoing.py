"""Webhooks to the demo's own receiver, and rules that report silent agents and failed resources."""

from __future__ import annotations

from typing import Any

from controlplane.demo.cast import PLATFORM, Cast

_RULES = (
    {
        "name": "Silent agents",
        "when": {"types": ["agent.unavailable", "agent.unknown"]},
        "severity": "critical",
        "subject": "{{ data.name }} is silent",
    },
    {"name": "Failed resources", "when": {"types": ["resource.failed"]}, "severity": "warning"},
)


def tell(cast: Cast) -> None:
    if cast.receiver:
        sinks = {sink["name"] for sink in cast.act(PLATFORM, "GET", "sinks")["items"]}
        for sink in _sinks(cast.receiver):
            if sink["name"] not in sinks:
                cast.act(PLATFORM, "POST", "sinks", sink)
    _report(cast)


def _sinks(receiver: str) -> list[dict[str, Any]]:
    return [
        {
            "name": "audit-archive",
            "config": {"url": f"{receiver}/archive"},
            "filter": {"types": ["override.*", "project.*"]},
            "after": 0,
        },
        # Its receiver answers 503 to some, so there are retries to look at.
        {
            "name": "chat-bridge",
            "config": {"url": f"{receiver}/unreliable"},
            "filter": {"types": ["agent.*"]},
        },
    ]


def _report(cast: Cast) -> None:
    channel = _channel(cast)
    for rule in _RULES:
        cast.act(PLATFORM, "POST", "notification-rules", {**rule, "to": [channel] if channel else []})


def _channel(cast: Cast) -> str:
    if not cast.receiver:
        return ""
    for channel in cast.act(PLATFORM, "GET", "notification-channels")["items"]:
        if channel["name"] == "on-call":
            return str(channel["id"])
    body = {"name": "on-call", "kind": "webhook", "config": {"url": f"{cast.receiver}/on-call"}}
    made = cast.act(PLATFORM, "POST", "notification-channels", body)
    return str(made.get("id") or made["channel"]["id"])
