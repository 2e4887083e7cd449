"""How a document stands in a data plane, in one word. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from registry.agent_configs.bundles.conditions import Status, Type


def word(conditions: Sequence[Mapping[str, Any]], conflicts: Sequence[Any]) -> str:
    """`conflict` says more than what else may be true of it."""
    found = {one["type"]: one["status"] for one in conditions}
    if conflicts:
        return "conflict"
    if why_held(conditions):
        return "held"
    if found.get(Type.PROGRAMMED.value) == Status.TRUE.value:
        return "in_force"
    if Status.FALSE.value in (found.get(Type.VALID.value), found.get(Type.ACCEPTED.value)):
        return "refused"
    return "pending"


def why_held(conditions: Sequence[Mapping[str, Any]]) -> str:
    """Why the latest generation waits; empty if it does not."""
    programmed = (one for one in conditions if one["type"] == Type.PROGRAMMED.value)
    return next((one["message"] for one in programmed if one.get("reason") == "Held"), "")


@dataclass(frozen=True, slots=True)
class Reach:
    """Whether the endpoints of a document answer. since: when it became so, if that is known."""

    word: str
    reason: str
    message: str
    since: datetime | None


_REACH = {Status.TRUE.value: "reachable", Status.FALSE.value: "unreachable"}


def reachable(conditions: Sequence[Mapping[str, Any]]) -> Reach | None:
    """None if nothing says."""
    said = next((one for one in conditions if one["type"] == Type.REACHABLE.value), None)
    if said is None:
        return None
    word = _REACH.get(said["status"], "not_known")
    since = said["last_transition_at"]
    return Reach(word, said["reason"], said["message"], datetime.fromisoformat(since) if since else None)


def lines(text: str, diagnostics: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """The text by lines, each with what is wrong in it."""
    wrong: dict[int, list[Mapping[str, Any]]] = {}
    for one in diagnostics:
        wrong.setdefault(one["line"], []).append(one)
    return [(line, wrong.get(number, [])) for number, line in enumerate(text.splitlines(), start=1)]
