"""The words of messages. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from controlplane.notifications.templates import MOST_RENDERED, cut, one_line

# Alerts that a message names; of others it says how many there are.
NAMED = 20


@dataclass(frozen=True, slots=True)
class AlertLine:
    """An alert as a message has it. group: environment or scope, or empty."""

    title: str
    text: str
    event_type: str
    group: str
    is_open: bool = True


@dataclass(frozen=True, slots=True)
class MessageFacts:
    """total, firing: alerts of the message. groups: their environments or scopes, most frequent first."""

    rule: str
    total: int
    firing: int
    lines: Sequence[AlertLine]
    groups: Sequence[str] = ()
    acknowledged_by: str = ""


@dataclass(frozen=True, slots=True)
class Words:
    subject: str
    text: str


def words_of(facts: MessageFacts) -> Words:
    """Return subject and text of a message in the state of its alerts."""
    subject = one_line(f"{_prefix(facts)}{_title(facts)}")
    return Words(subject, cut("\n".join(_body(facts)), MOST_RENDERED))


def _prefix(facts: MessageFacts) -> str:
    if facts.firing == 0:
        return "Resolved: "
    return f"Acknowledged by {facts.acknowledged_by}: " if facts.acknowledged_by else ""


def _title(facts: MessageFacts) -> str:
    if facts.total == 1 and facts.lines:
        return facts.lines[0].title
    types = sorted({line.event_type for line in facts.lines})
    what = phrase_of(types[0]) if len(types) == 1 else facts.rule
    groups = [group for group in facts.groups if group]
    where = f" ({', '.join(groups[:3])}{', …' if len(groups) > 3 else ''})" if groups else ""
    return f"{facts.total} × {what}{where}"


def phrase_of(event_type: str) -> str:
    """Return the type as words, such as `agent unavailable`."""
    return event_type.replace(".", " ").replace("_", " ")


def _body(facts: MessageFacts) -> list[str]:
    if facts.total == 1 and facts.lines:
        return [facts.lines[0].text or facts.lines[0].title]
    lines = [f"{facts.firing} of {facts.total} alerts of the rule {facts.rule} are firing.", ""]
    lines += [f"- {'' if line.is_open else 'resolved: '}{line.title}" for line in facts.lines[:NAMED]]
    more = facts.total - min(len(facts.lines), NAMED)
    return [*lines, f"- {more} more"] if more > 0 else lines
