"""Occurrences: an event as a rule sees it, with the key, title and text of its alert. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

from controlplane.delivery.logged_event import LoggedEvent
from controlplane.events.types import find
from controlplane.notifications.rules import Rule
from controlplane.notifications.templates import Values, event_values, one_line, render, render_line
from controlplane.notifications.wording import phrase_of
from controlplane.scopes import Scope

_MOST_FIELDS = 30


@dataclass(frozen=True, slots=True)
class Occurrence:
    """key_hash: of the alert's key within the rule. group: environment or scope, or empty."""

    event: LoggedEvent
    key_hash: str
    title: str
    text: str
    group: str


@dataclass(frozen=True, slots=True)
class DefaultTexts:
    """Templates for Flyte's workflow events, from its own settings; empty for ours."""

    flyte_subject: str = ""
    flyte_body: str = ""


NO_TEXTS = DefaultTexts()


def key_hash_of(rule: Rule, event: LoggedEvent) -> str:
    """Return the hash of the key of the alert that the event belongs to."""
    return sha256(rule.key_of(event_values(event)).encode()).hexdigest()


def occurrence_of(rule: Rule, event: LoggedEvent, defaults: DefaultTexts = NO_TEXTS) -> Occurrence:
    """Return the event as the rule reports it."""
    event_type = find(event.type)
    meaning = event_type.meaning if event_type else ""
    values = event_values(event, meaning=meaning, rule=rule.name, severity=rule.severity)
    is_flyte = event.type.startswith("flyte.")
    subject = rule.subject or (defaults.flyte_subject if is_flyte else "")
    body = rule.body or (defaults.flyte_body if is_flyte else "")
    return Occurrence(
        event=event,
        key_hash=key_hash_of(rule, event),
        title=render_line(subject, values) if subject else default_title(event),
        text=render(body, values) if body else _default_text(event, meaning),
        group=_group(event),
    )


def default_title(event: LoggedEvent) -> str:
    name = event.data.get("name")
    return one_line(f"{phrase_of(event.type)}: {name if isinstance(name, str) and name else event.object_id}")


def _default_text(event: LoggedEvent, meaning: str) -> str:
    fields = [f"{name}: {value}" for name, value in _plain_fields(event.data).items()]
    head = [line for line in (meaning, f"at: {event.at:%Y-%m-%d %H:%M:%S} UTC") if line]
    return render("{{ text }}", _only("\n".join([*head, *fields[:_MOST_FIELDS]])))


def _only(text: str) -> Values:
    return lambda name: text


def _plain_fields(data: Mapping[str, Any]) -> dict[str, str]:
    return {
        name: one_line(str(value))
        for name, value in data.items()
        if isinstance(value, str | int) and value != ""
    }


def _group(event: LoggedEvent) -> str:
    environment = event.data.get("environment")
    if isinstance(environment, str) and environment:
        return one_line(environment)
    return "" if event.scope == Scope() else one_line(str(event.scope))
