"""A plan as people read it: what differs, and which effective values change. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpctl.output import Item, Paint, as_text
from cpctl.scopes import scope_text

_SIGNS = {"created": ("+", "green"), "deleted": ("-", "red"), "updated": ("~", "yellow")}


# The API lists so many changes of a plan, and counts all.
_MOST_LISTED = 1000


def is_empty(plan: Item) -> bool:
    """Is there nothing to do?"""
    return not _made(plan) and not _counted(plan["summary"])


def differs(plan: Item) -> bool:
    """Does any value differ? An update that only changes who manages a value differs in nothing."""
    changes = plan["changes"]
    if len(changes) >= _MOST_LISTED:
        return True
    return bool(_made(plan)) or any(one["differences"] or one["change"] != "updated" for one in changes)


def summary_line(plan: Item) -> str:
    said = plan["summary"]
    counts = ", ".join(f"{said[name]} {name}" for name in ("created", "updated", "deleted", "unchanged"))
    return f"{counts}; effective values change at {plan['affected_scopes']} scopes."


def plan_lines(plan: Item, paint: Paint) -> list[str]:
    told = [_signed(one, f"{one['kind']} {one['name']}", paint) for one in _made(plan)]
    for change in plan["changes"]:
        told.append(_signed(change, f"{change['resource_type']} {scope_text(change['scope'])}", paint))
        if not change["differences"]:
            told.append("    only who manages it")
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


def _made(plan: Item) -> list[Item]:
    """What is created or changed besides overrides; what stands already is listed by the API too."""
    return [one for one in plan["installation"] if one["change"] != "unchanged"]


def _signed(one: Item, what: str, paint: Paint) -> str:
    sign, style = _SIGNS.get(one["change"], ("?", "yellow"))
    return paint(style, f"{sign} {what}")


def _counted(summary: Mapping[str, Any]) -> bool:
    return any(summary[name] for name in ("created", "updated", "deleted"))
