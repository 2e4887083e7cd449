"""The open explanation of a setting: what its levels link to, and what a removal would change."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from urllib.parse import urlencode

from console.overrides.explanation import Author, Step, effect_of, explain
from console.overrides.ladder import Cell
from console.overrides.matrix_rows import Row
from console.overrides.write_mode import may_set
from console.templatetags.parts import scope_url
from controlplane.database.clock import database_now
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.editing.removal_impact import removal_impact
from overrides.history.history import version_that_set
from overrides.resolution.addresses import Address
from overrides.resource_types import ResourceType


@dataclass(frozen=True, slots=True)
class Question:
    """A setting that the caller asks about at a scope. url: the page with its explanation.

    without: the label of the level at which to remove the value, as a question; empty for none.
    """

    scope: Scope
    resource_type: ResourceType
    row: Row
    cells: tuple[Cell, ...]
    url: str
    without: str = ""


@dataclass(frozen=True, slots=True)
class PageStep:
    """A level of the explanation. Its URLs are empty where the caller may not do it.

    removal_url: the page with what a removal would change, or without if it is open.
    """

    step: Step
    edit_url: str
    history_url: str
    removal_url: str
    is_removed: bool


@dataclass(frozen=True, slots=True)
class Explanation:
    """An open explanation. removal: what changes without the value at one level, if asked."""

    row: Row
    steps: tuple[PageStep, ...]
    removal: dict[str, Any] | None
    now: datetime


def explanation_of(question: Question, caller: Caller) -> Explanation:
    steps = explain(question.row, question.cells, dict(_authors(question, caller)))
    entries = tuple(_page_step(step, question, caller) for step in steps)
    removed = next((entry.step for entry in entries if entry.is_removed), None)
    removal = _removal(removed, question) if removed else None
    return Explanation(question.row, entries, removal, database_now())


def _authors(question: Question, caller: Caller) -> Iterator[tuple[Scope, Author]]:
    """Yield who set the present value at each level whose history the caller may read."""
    for scope in _scopes(question.cells):
        if not _may_read(caller, scope):
            continue
        row = version_that_set(Address(question.resource_type.name, scope), question.row.path)
        if row is not None:
            yield (
                scope,
                Author(row.version, row.changed_by, row.changed_at, row.change_message, row.declared_in),
            )


def _scopes(cells: Sequence[Cell]) -> list[Scope]:
    return [cell.rung.scope for cell in cells if cell.values and not cell.rung.is_default]


def _page_step(step: Step, question: Question, caller: Caller) -> PageStep:
    scope, name = step.rung.scope, question.resource_type.name
    is_default = step.rung.is_default
    may_read = step.can_be_removed and _may_read(caller, scope)
    is_editable = not is_default and may_set(caller, scope, question.resource_type)
    is_removed = may_read and step.rung.label == question.without
    removal = "" if is_removed else f"&{urlencode({'without': step.rung.label})}"
    return PageStep(
        step,
        scope_url("override-edit", scope, name) if is_editable else "",
        _history_url(step, name) if may_read else "",
        f"{question.url}{removal}" if may_read else "",
        is_removed,
    )


def _history_url(step: Step, resource_type: str) -> str:
    """Return the history of the override; from the second version on, with what the version changed."""
    url = scope_url("override-history", step.rung.scope, resource_type)
    version = step.author.version if step.author else 0
    if version < 2:
        return url
    return f"{url}{'&' if '?' in url else '?'}{urlencode({'from': version - 1, 'to': version})}"


def _removal(step: Step, question: Question) -> dict[str, Any]:
    """Return what changes without the value: at the scope of the page first, then elsewhere."""
    address = Address(question.resource_type.name, step.rung.scope)
    impact = removal_impact(address, question.row.path, question.scope)
    others = [change for change in impact.effective if change.scope != question.scope]
    changes = [*([impact.here] if impact.here.differences else ()), *others]
    effects = [effect_of(change, question.row.pointer) for change in changes]
    return {"impact": impact, "effects": effects, "rung": step.rung}


def _may_read(caller: Caller, scope: Scope) -> bool:
    return caller.verdict(Action.OVERRIDE_READ, scope).allowed
