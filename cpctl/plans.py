"""A plan as people read it: what differs, and which effective values change. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpctl.output import Item, Paint, as_text
from cpctl.scopes import scope_text

_SIGNS = {"created": ("+", "green"), "deleted": ("-", "red"), "updated": ("~", "yellow")}
_CHANGES = ("created", "updated", "deleted")
# The API lists so many changes of a plan, and counts all.
_MOST_LISTED = 1000


def is_empty(plan: Item) -> bool:
    """Is there nothing to do?"""
    return not _made(plan) and not _counted(plan["summary"]) and not plan.get("digest")


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


def plan_lines(plan: Item, paint: Paint, *, managers: bool = True) -> list[str]:
    """The plan, and how to confirm it. managers: also what changes only in who manages it."""
    lines = [_signed(made, f"{made['kind']} {made['name']}", paint) for made in _made(plan)]
    for change in plan["changes"]:
        lines += _change_lines(change, paint, managers=managers)
    lines += _not_listed(plan)
    if plan["effective"]:
        lines += ["", "Effective values that change:"]
    for change in plan["effective"]:
        lines.append(f"  {change['resource_type']} {scope_text(change['scope'])}")
        lines += ["  " + line for line in difference_lines(change["differences"], paint)]
    lines += _kept_out_lines(plan.get("kept_out") or [], paint)
    return [*lines, summary_line(plan), *confirm_lines(plan)]


def confirm_lines(plan: Item) -> list[str]:
    """What the server asks to confirm, if it does."""
    if not plan.get("confirm"):
        return []
    return [f"{plan['confirm_reason']} To confirm it, add --confirm {plan['confirm']}"]


def confirmation(plan: Item) -> Any:
    """What confirms all of a plan that a person has seen. Older servers know only the number."""
    return plan.get("digest") or plan["affected_scopes"]


def _change_lines(change: Item, paint: Paint, *, managers: bool) -> list[str]:
    only_manager = change["change"] == "updated" and not change["differences"]
    if only_manager and not managers:
        return []
    title = _signed(change, f"{change['resource_type']} {scope_text(change['scope'])}", paint)
    note = ["    only who manages it"] if only_manager else []
    return [title, *note, *difference_lines(change["differences"], paint)]


def _not_listed(plan: Item) -> list[str]:
    missing = sum(plan["summary"][name] for name in _CHANGES) - len(plan["changes"])
    return [f"… and {missing} more changes."] if missing > 0 else []


def _kept_out_lines(values: list[Item], paint: Paint) -> list[str]:
    lines = ["", "Stored values that guard rails keep from applying:"] if values else []
    for value in values:
        place = f"{value['resource_type']} {scope_text(value['scope'])} {value['leaf']}"
        reason = f"{value['rail']}: {value['why_not']}"
        lines.append(paint("yellow", f"  {place}: {as_text(value['value'])} ({reason})"))
    return lines


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
    return any(summary[name] for name in _CHANGES)
