"""How a document stands in a data plane, in one word. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from registry.agent_configs.conditions import Status, Type


def word(conditions: Sequence[Mapping[str, Any]], conflicts: Sequence[Any]) -> str:
    """`conflict` says more than what else may be true of it."""
    found = {one["type"]: one["status"] for one in conditions}
    if conflicts:
        return "conflict"
    if found.get(Type.PROGRAMMED.value) == Status.TRUE.value:
        return "in_force"
    if Status.FALSE.value in (found.get(Type.VALID.value), found.get(Type.ACCEPTED.value)):
        return "refused"
    return "pending"


def lines(text: str, diagnostics: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[Mapping[str, Any]]]]:
    """The text by lines, each with what is wrong in it."""
    wrong: dict[int, list[Mapping[str, Any]]] = {}
    for one in diagnostics:
        wrong.setdefault(one["line"], []).append(one)
    return [(line, wrong.get(number, [])) for number, line in enumerate(text.splitlines(), start=1)]
