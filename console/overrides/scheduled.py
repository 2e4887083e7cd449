"""Pending changes in the pages of overrides: what expires, what is to come, and how to cancel it."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console import forms
from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl
from console.overrides.form_input import OverrideForm, write_options
from console.overrides.value_text import format_value, readable
from console.pages import actor_of, load_page, page
from console.templatetags.parts import scope_url
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from overrides.editing.plans import Difference, differences
from overrides.loading.catalogue_cache import current_catalogue
from overrides.loading.current import CurrentOverride, load_current
from overrides.resolution.addresses import Address
from overrides.resolution.leaves import ABSENT
from overrides.resolution.merging import Attributes
from overrides.resource_types import ResourceType
from overrides.scheduled_models import OverrideChange
from overrides.scheduling.changes import ChangeSpec, cancel_change, find_change, schedule_change
from overrides.scheduling.decisions import ChangeState

_ALL = "all"
_EXAMPLE = {
    "scope": {"project": "flytesnacks"},
    "resource_type": "task_resource",
    "patch": {"limits": {"cpu": "8"}},
    "at": "2030-01-05T22:00:00Z",
    "until": "2030-01-07T06:00:00Z",
}


@dataclass(frozen=True, slots=True)
class Pending:
    """A pending change. lines: each setting with its value now, and the one that follows.

    has_drifted: the override was changed since, so that nothing follows.
    """

    row: OverrideChange
    expires: bool
    has_drifted: bool
    lines: tuple[tuple[str, str, str], ...]
    may_cancel: bool


def pending_changes(caller: Caller, scope: Scope) -> dict[str, list[Pending]]:
    """Return the pending changes of overrides that the scope inherits, by resource type."""
    rows = OverrideChange.objects.covering(scope).filter(due_at__isnull=False).order_by("due_at", "id")
    found: dict[str, list[Pending]] = defaultdict(list)
    for row in rows:
        expires = row.state == ChangeState.APPLIED
        may_cancel = caller.verdict(Action.OVERRIDE_WRITE, row.scope).allowed
        address = Address(row.resource_type, row.scope)
        current = load_current([address])[address]
        expected = row.applied_version if expires else row.planned_version
        lines = _lines(row, current, expires=expires)
        found[row.resource_type].append(Pending(row, expires, current.version != expected, lines, may_cancel))
    return dict(found)


def save_until(caller: Caller, address: Address, attributes: Attributes | None, form: OverrideForm) -> None:
    """Save the override as a change that expires. Raises InvalidRequest, and like a save."""
    options = write_options(form, caller, address.scope, saves=True)

    def revise(resource_type: ResourceType, before: Attributes | None) -> Attributes | None:
        return None if attributes is None else resource_type.read(attributes)

    until = forms.parse_time(form.until, "until")
    schedule_change(
        ChangeSpec(address, revise, until=until, message=form.reason[:400]),
        actor=actor_of(caller, form.reason),
        options=replace(options.commit_options, wants_plan=False),
        precondition=options.precondition,
    )


@page
def changes(request: HttpRequest, caller: Caller) -> HttpResponse:
    """List scheduled changes. `?state=`: one state, or `all`; without it, what is pending."""
    scopes = caller.require_somewhere(Action.OVERRIDE_READ)
    state = request.GET.get("state", "").strip()
    rows = OverrideChange.objects.within(scopes).annotate(now=Now())
    if state in list(ChangeState):
        rows = rows.filter(state=state)
    elif state != _ALL:
        rows = rows.filter(due_at__isnull=False)
    results = load_page(request, caller, rows, order=("-id",))
    context = {
        "results": results,
        "changes": [
            (row, row.due_at is not None and caller.verdict(Action.OVERRIDE_WRITE, row.scope).allowed)
            for row in results.items
        ],
        "state": state,
        "states": [*(known.value for known in ChangeState), _ALL],
        "first": curl(request, "POST", "override-changes", _EXAMPLE),
        "copies": {
            "curl": curl(request, "GET", "override-changes"),
            "cpctl": cpctl("changes", "list"),
        },
    }
    return render(request, "console/overrides/scheduled_changes.html", context)


@page
def cancel(request: HttpRequest, caller: Caller, change: UUID) -> HttpResponse:
    row = find_change(change, caller)
    caller.require(Action.OVERRIDE_WRITE, row.scope)
    is_applied = row.state == ChangeState.APPLIED
    effect = "It does not expire any more." if is_applied else "It is not applied."
    confirmation = Change(
        f"Cancel the change of {row}?",
        (effect, f"Scheduled by {row.created_by}. {row.message}".strip()),
        "Cancel change",
        scope_url("overrides", row.scope),
        "Change cancelled.",
        (Field("reason", "Reason"),),
        {
            "curl": curl(request, "POST", f"override-changes/{row.id}:cancel"),
            "cpctl": cpctl("changes", "cancel", str(row.id)),
        },
    )

    def act(form: Mapping[str, str]) -> None:
        cancel_change(row.id, actor=actor_of(caller, form.get("reason", "")))

    return confirm_change(request, confirmation, act)


def _lines(
    row: OverrideChange, current: CurrentOverride, *, expires: bool
) -> tuple[tuple[str, str, str], ...]:
    rule = current_catalogue().rule_of(row.resource_type)
    after = row.before if expires else row.attributes
    return tuple(_line(difference) for difference in differences(current.attributes, after, rule))


def _line(difference: Difference) -> tuple[str, str, str]:
    now, then = (
        "inherited" if value is ABSENT else format_value(value)
        for value in (difference.before, difference.after)
    )
    return (readable(difference.leaf), now, then)
