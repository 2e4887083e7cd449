"""Plans as text: changes of overrides and of effective values. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpctl.output import Item, Paint, as_text, counted
from cpctl.scopes import scope_text

_SIGNS = {"created": ("+", "green"), "deleted": ("-", "red"), "updated": ("~", "yellow")}
_CHANGES = ("created", "updated", "deleted")
# Maximum number of changes that the API lists in a plan.
_MOST_LISTED = 1000


def is_empty(plan: Item) -> bool:
    """True if the plan changes nothing."""
    return not _made(plan) and not _counted(plan["summary"]) and not plan.get("digest")


def differs(plan: Item) -> bool:
    """True if any value changes, not only the manager of a value."""
    changes = plan["changes"]
    if len(changes) >= _MOST_LISTED:
        return True
    return bool(_made(plan)) or any(
        change["differences"] or change["change"] != "updated" for change in changes
    )


def summary_line(plan: Item, *, managers: bool = True) -> str:
    """Return the plan in numbers. managers: False counts changes of managers alone apart."""
    summary = dict(plan["summary"])
    moved = 0 if managers else sum(map(_is_only_manager, plan["changes"]))
    summary["updated"] -= moved
    counts = ", ".join(f"{summary[name]} {name}" for name in ("created", "updated", "deleted", "unchanged"))
    counts += f", {moved} with equal values and another manager" if moved else ""
    return f"{counts}; effective values change at {counted(plan['affected_scopes'], 'scope')}."


def plan_lines(plan: Item, paint: Paint, *, managers: bool = True) -> list[str]:
    """Return the plan and how to confirm it. managers: also list changes of managers only."""
    lines = [_signed(made, f"{made['kind']} {made['name']}", paint) for made in _made(plan)]
    for change in plan["changes"]:
        lines += _change_lines(change, paint, managers=managers)
    lines += _not_listed(plan)
    if plan["effective"]:
        lines += ["", "Effective values that change:"]
    for change in plan["effective"]:
        lines.append(f"  {change['resource_type']} {scope_text(change['scope'])}")
        lines += ["  " + line for line in difference_lines(change["differences"], paint)]
    lines += _agent_lines(plan.get("affected_agents") or {"count": 0})
    lines += _kept_out_lines(plan.get("kept_out") or [], paint)
    lines += [_warning_line(warning) for warning in plan.get("warnings") or []]
    frozen = [_frozen_line(freeze) for freeze in plan.get("frozen_by") or []]
    protected = [_protected_line(policy) for policy in (plan.get("protected_by") or [])[:1]]
    return [*lines, summary_line(plan, managers=managers), *confirm_lines(plan), *frozen, *protected]


def _protected_line(policy: Item) -> str:
    needed = counted(policy["approvals"], "approval")
    return (
        f"Changes at {scope_text(policy['scope'])} need {needed}. Request the "
        "change with cpctl change-requests create, or add --approval-override REASON"
    )


def _frozen_line(freeze: Item) -> str:
    return (
        f"{freeze['created_by']} froze {scope_text(freeze['scope'])} until {freeze['ends_at']}: "
        f"{freeze['reason']}. To override it, add --override-freeze REASON"
    )


def confirm_lines(plan: Item) -> list[str]:
    """Return how to confirm the plan, if the server requires it."""
    if not plan.get("confirm"):
        return []
    return [f"{plan['confirm_reason']} To confirm, add --confirm {plan['confirm']}"]


def confirmation(plan: Item) -> Any:
    """Return the value that confirms the whole plan. Older servers know only the number."""
    return plan.get("digest") or plan["affected_scopes"]


def _change_lines(change: Item, paint: Paint, *, managers: bool) -> list[str]:
    only_manager = _is_only_manager(change)
    if only_manager and not managers:
        return []
    title = _signed(change, f"{change['resource_type']} {scope_text(change['scope'])}", paint)
    note = ["    only the manager"] if only_manager else []
    return [title, *note, *difference_lines(change["differences"], paint)]


def _agent_lines(agents: Item) -> list[str]:
    """Return the agents with work at the scopes that change. Older servers do not tell them."""
    if not agents["count"]:
        return []
    named = ", ".join(f"{agent['name']} ({agent['resources']})" for agent in agents["items"])
    more = " …" if agents["count"] > len(agents["items"]) else ""
    return ["", f"Agents with work there (resources of each), {agents['count']} in all: {named}{more}"]


def _is_only_manager(change: Item) -> bool:
    return change["change"] == "updated" and not change["differences"]


def _not_listed(plan: Item) -> list[str]:
    missing = sum(plan["summary"][name] for name in _CHANGES) - len(plan["changes"])
    return [f"… and {counted(missing, 'more change')}."] if missing > 0 else []


def _warning_line(warning: Item) -> str:
    scope = scope_text(warning["scope"])
    return f"Warning: {warning['resource_type']}{warning['pointer']} at {scope}: {warning['message']}"


def _kept_out_lines(values: list[Item], paint: Paint) -> list[str]:
    lines = ["", "Stored values that guard rails block:"] if values else []
    for value in values:
        place = f"{value['resource_type']} {scope_text(value['scope'])} {value['leaf']}"
        reason = f"{value['rail']}: {value['why_not']}"
        lines.append(paint("yellow", f"  {place}: {as_text(value['value'])} ({reason})"))
    return lines


def difference_lines(differences: list[Item], paint: Paint) -> list[str]:
    lines = []
    for difference in differences:
        if "before" in difference:
            lines.append(paint("red", f"    - {difference['leaf']}: {as_text(difference['before'])}"))
        if "after" in difference:
            lines.append(paint("green", f"    + {difference['leaf']}: {as_text(difference['after'])}"))
    return lines


def _made(plan: Item) -> list[Item]:
    """Return created and changed objects besides overrides. The API also lists unchanged ones."""
    return [entry for entry in plan["installation"] if entry["change"] != "unchanged"]


def _signed(change: Item, what: str, paint: Paint) -> str:
    sign, style = _SIGNS.get(change["change"], ("?", "yellow"))
    return paint(style, f"{sign} {what}")


def _counted(summary: Mapping[str, Any]) -> bool:
    return any(summary[name] for name in _CHANGES)
