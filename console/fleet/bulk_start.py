"""The page that starts a bulk change of agents: those that match the filters, or the ticked ones."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import transaction
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.http import urlencode

from console.confirmations import Change, Field, Next, confirm_change
from console.cpctl_commands import cpctl, curl
from console.fleet import list_query
from console.forms import parse_form, parse_number, parse_time
from console.pages import actor_of, page
from controlplane.errors import InvalidRequest
from controlplane.formats.counts import counted
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.states import SILENT
from registry.api.agents import bulk_schemas as schemas
from registry.bulk_changes.changes import BulkSpec, start_bulk_change
from registry.bulk_changes.decisions import BulkAction

_EFFECTS = {
    BulkAction.DRAIN: "Each agent finishes its work and gets no more. The change can be undone.",
    BulkAction.RESUME: "Each agent takes work again. The change can be undone.",
    BulkAction.RETIRE: "Tokens of the agents are revoked: to return, they must join again. No undo.",
    BulkAction.APPROVE: "The agents can take work immediately. No undo.",
}
_NAMES = {"selector": "label_selector"}
_MOST_NAMED = 5
# Of cpctl, for the members of a selector.
_OPTIONS = {
    "label_selector": "-l",
    "environment": "--environment",
    "state": "--state",
    "team": "--team",
    "task_type": "--task-type",
    "q": "--search",
}


def selector_of(filters: Mapping[str, str]) -> dict[str, Any]:
    """Return the filters of the agents page as a selector of the API."""
    named = {_NAMES.get(name, name): value for name, value in filters.items() if value and name != "state"}
    state = filters.get("state", "")
    silent = sorted(SILENT) if state == list_query.SILENT_STATES else [state]
    return {**named, **({"state": [str(each) for each in silent]} if state else {})}


def _ticked_agents(request: HttpRequest) -> dict[str, Any]:
    """Return the selector of the ticked rows; empty if the filters select.

    The form of the ticked rows sends one empty value too: without a tick it must not select all agents.
    """
    if "ticked" not in request.GET:
        return {}
    if not (ids := [each for each in request.GET.getlist("ticked") if each]):
        raise InvalidRequest("No agent is ticked. Go back to the list, and tick the agents to change.")
    return {"agent_ids": ids}


@page
def start(request: HttpRequest, caller: Caller, action: str) -> HttpResponse:
    if action not in list(BulkAction):
        raise Http404
    caller.require_for_some_owner(Action.AGENT_WRITE)
    filters = list_query.read_filters(request.GET)
    selector = _ticked_agents(request) or selector_of(filters)
    query = schemas.search_query(parse_form(schemas.AgentSelectorWrite, selector))
    verb = BulkAction(action)
    impact = _impact(BulkSpec(verb, query, selector, reason="", is_rehearsal=True), caller)
    back = f"{reverse('agents')}?{urlencode({name: value for name, value in filters.items() if value})}"
    change = Change(
        f"{verb.capitalize()} {counted(impact['agents'], 'agent')}?",
        tuple(_facts(verb, selector, impact)),
        f"{verb.capitalize()} {counted(impact['agents'], 'agent')}",
        back,
        "Bulk change started.",
        tuple(_fields(verb, impact)),
        {
            "curl": curl(
                request, "POST", f"agents:{verb}?dry_run=true", {"selector": selector, "reason": "…"}
            ),
            "cpctl": _command(verb, selector),
        },
        is_destructive=verb is BulkAction.RETIRE,
    )

    def act(form: Mapping[str, str]) -> Next:
        spec = _spec(verb, query, selector, form)
        row = start_bulk_change(spec, caller, actor=actor_of(caller, spec.reason))
        return Next(reverse("agent-bulk-change", args=[row.id]))

    return confirm_change(request, change, act)


def _command(verb: BulkAction, selector: Mapping[str, Any]) -> str:
    """Return the change for cpctl; empty for filters that it has no option for, and for all agents."""
    if not selector or not selector.keys() <= _OPTIONS.keys():
        return ""
    words = [
        word
        for name, value in selector.items()
        for word in (_OPTIONS[name], ",".join(value) if isinstance(value, list) else value)
    ]
    return cpctl("agents", str(verb), *words, "--reason" if verb is BulkAction.DRAIN else "-m", "…")


def _impact(spec: BulkSpec, caller: Caller) -> dict[str, Any]:
    """Return what the change would do; nothing of it stays."""
    with transaction.atomic():
        impact: dict[str, Any] = start_bulk_change(spec, caller, actor=actor_of(caller)).impact
        transaction.set_rollback(True)
    return impact


def _spec(
    action: BulkAction, query: Mapping[str, Any], selector: dict[str, Any], form: Mapping[str, str]
) -> BulkSpec:
    numbers = {name: parse_number(form[name]) for name in ("confirm", "batch_size") if form.get(name)}
    sent = {"selector": selector, "reason": form.get("reason", ""), **numbers}
    body = parse_form(
        schemas.AgentBulkChangeWrite, {**sent, "allow_last_agents": "allow_last_agents" in form}
    )
    return BulkSpec(
        action,
        query,
        selector,
        reason=body["reason"],
        until=parse_time(form.get("until", ""), "until"),
        confirm=body.get("confirm"),
        batch_size=body["batch_size"],
        allow_last_agents=body["allow_last_agents"],
    )


def _facts(action: BulkAction, selector: Mapping[str, Any], impact: Mapping[str, Any]) -> Iterator[str]:
    yield _EFFECTS[action]
    yield f"Selected: {_criteria(selector)}."
    if "agent_ids" not in selector:
        yield "Agents that you may not change are not selected."
    changing = counted(impact["agents"], "agent")
    yield f"{changing} would change, {impact['unchanged']} match and stay as they are."
    if places := impact["by_environment"]:
        most = sorted(places.items(), key=lambda place: (-place[1], place[0]))[:_MOST_NAMED]
        named = ", ".join(f"{name} {count}" for name, count in most)
        rest = impact["environment_count"] - len(most)
        yield f"Environments: {named}{f' and {rest} more' if rest > 0 else ''}."
    if impact["work_in_progress"]:
        yield f"Resources of these agents: {impact['work_in_progress']}."
    for last in impact["last_agents"][:_MOST_NAMED]:
        yield f"{last['task_type']} would lose its last ready agent in {last['environment']}."


def _criteria(selector: Mapping[str, Any]) -> str:
    if "agent_ids" in selector:
        return counted(len(selector["agent_ids"]), "ticked agent")
    criteria = ", ".join(
        f"{name.replace('_', ' ')} {', '.join(value) if isinstance(value, list) else value}"
        for name, value in selector.items()
    )
    return criteria or "all agents"


def _fields(action: BulkAction, impact: Mapping[str, Any]) -> Iterator[Field]:
    yield Field("reason", "Reason", hint="Shown on each agent and in the audit log.", required=True)
    if action is BulkAction.DRAIN:
        yield Field("until", "End (UTC)", "datetime-local", hint="Leave empty to drain until resumed.")
    if impact["confirm"] is not None:
        yield Field("confirm", "Number of agents", hint=f"Type {impact['agents']} to confirm.", required=True)
    if impact["last_agents"]:
        yield Field("allow_last_agents", "Allow last agents", "checkbox")
    yield Field("batch_size", "Batch size", "number", hint="A pause of 5 s follows each batch.", value="100")
