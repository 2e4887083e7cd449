"""A plan as people read it: what differs, and which effective values change. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpctl.output import Item, Paint, as_text
from cpctl.scopes import scope_text

_SIGNS = {"created": ("+", "green"), "deleted": ("-", "red"), "updated": ("~", "yellow")}


def is_empty(plan: Item) -> bool:
    return not plan["changes"] and not plan["installation"] and not _counted(plan["summary"])


def summary_line(plan: Item) -> str:
    said = plan["summary"]
    counts = ", ".join(f"{said[name]} {name}" for name in ("created", "updated", "deleted", "unchanged"))
    return f"{counts}; effective values change at {plan['affected_scopes']} scopes."


def plan_lines(plan: Item, paint: Paint) -> list[str]:
    told = [_made(one, paint) for one in plan["installation"]]
    for change in plan["changes"]:
        sign, style = _SIGNS.get(change["change"], ("?", "yellow"))
        told.append(paint(style, f"{sign} {change['resource_type']} {scope_text(change['scope'])}"))
        told += difference_lines(change["differences"], paint)
    if plan["effective"]:
        told += ["", "Effective values that change:"]
    for change in plan["effective"]:
        told.append(f"  {change['resource_type']} {scope_text(change['scope'])}")
        told += ["  " + line for line in difference_lines(change["differences"], paint)]
    return [*told, summary_line(plan)]


def difference_lines(differences: list[Item], paint: Paint) -> list[str]:
    told = []
    for one in differences:
        if "before" in one:
            told.append(paint("red", f"    - {one['leaf']}: {as_text(one['before'])}"))
        if "after" in one:
            told.append(paint("green", f"    + {one['leaf']}: {as_text(one['after'])}"))
    return told


def _made(one: Item, paint: Paint) -> str:
    sign, style = _SIGNS.get(one["change"], ("?", "yellow"))
    return paint(style, f"{sign} {one['kind']} {one['name']}")


def _counted(summary: Mapping[str, Any]) -> bool:
    return any(summary[name] for name in ("created", "updated", "deleted"))
