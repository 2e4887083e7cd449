"""Status of a document in a data plane, as one word. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from registry.agent_configs.bundles.conditions import Status, Type


def summarize(conditions: Sequence[Mapping[str, Any]], conflicts: Sequence[Any]) -> str:
    """Summarize conditions and conflicts; `conflict` takes precedence."""
    statuses = {condition["type"]: condition["status"] for condition in conditions}
    if conflicts:
        return "conflict"
    if why_held(conditions):
        return "held"
    if statuses.get(Type.PROGRAMMED.value) == Status.TRUE.value:
        return "active"
    if Status.FALSE.value in (statuses.get(Type.VALID.value), statuses.get(Type.ACCEPTED.value)):
        return "rejected"
    return "pending"


def why_held(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Return why the latest generation is held, or an empty string."""
    programmed = (condition for condition in conditions if condition["type"] == Type.PROGRAMMED.value)
    return next((condition["message"] for condition in programmed if condition.get("reason") == "Held"), "")


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether the endpoints of a document are reachable. since: the last transition, if known."""

    word: str
    reason: str
    message: str
    since: datetime | None


_REACH = {Status.TRUE.value: "reachable", Status.FALSE.value: "unreachable"}


def reachable(conditions: Sequence[Mapping[str, Any]]) -> Reach | None:
    """Return the reachability, or None without such a condition."""
    condition = next((row for row in conditions if row["type"] == Type.REACHABLE.value), None)
    if condition is None:
        return None
    word = _REACH.get(condition["status"], "unknown")
    since = condition["last_transition_at"]
    return Reach(
        word, condition["reason"], condition["message"], datetime.fromisoformat(since) if since else None
    )


def lines(text: str, diagnostics: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """Return the lines of the text, each with its diagnostics."""
    by_line: dict[int, list[Mapping[str, Any]]] = {}
    for diagnostic in diagnostics:
        by_line.setdefault(diagnostic["line"], []).append(diagnostic)
    return [(line, by_line.get(number, [])) for number, line in enumerate(text.splitlines(), start=1)]
