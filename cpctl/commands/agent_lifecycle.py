"""The commands `agents drain`, `resume`, `approve` and `retire`: of one agent, or of many."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.agent_kinds import AGENT
from cpctl.commands import agent_bulk_changes, get, options
from cpctl.commands.agent_bulk_changes import Pace, Selection
from cpctl.output import Format
from cpctl.session import SESSION

Names = Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", autocompletion=completion.agents)]


def drain(
    names: Names = None,
    *,
    reason: Annotated[str, typer.Option(help="Reason, sent to the agent.")],
    until: Annotated[str, typer.Option(help="End of the drain, as an RFC 3339 time.")] = "",
    selector: options.Selector = "",
    environment: agent_bulk_changes.Environment = "",
    state: options.State = "",
    team: options.Team = "",
    task_type: agent_bulk_changes.TaskType = "",
    search: options.Search = "",
    confirm: agent_bulk_changes.Confirm = None,
    batch_size: agent_bulk_changes.BatchSize = None,
    pause: agent_bulk_changes.Pause = None,
    allow_last_agents: agent_bulk_changes.LastAgents = False,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Drain an agent, or many: it gets no more work, even after restarts and silence, until `resume`.

    \b
    cpctl agents drain prod-eu-1 --reason "Kernel update"
    cpctl agents drain prod-eu-1 prod-eu-2 --reason "Kernel update" --dry-run
    cpctl agents drain -l team=ml --reason "Kernel update" --dry-run
    """
    selection = Selection(selector, environment, state, team, task_type, search)
    change = options.ChangeOptions(message, dry_run, yes)
    ends = {"until": until} if until else {}
    if not agent_bulk_changes.are_many(names, selection):
        return decide("drain", names, {"reason": reason, **ends}, change, output)
    body = {"selector": agent_bulk_changes.selector_of(names, selection), "reason": reason, **ends}
    pace = Pace(confirm, batch_size, pause, allow_last_agents)
    return agent_bulk_changes.start("drain", body, pace, change, output)


def resume(
    names: Names = None,
    *,
    selector: options.Selector = "",
    environment: agent_bulk_changes.Environment = "",
    state: options.State = "",
    team: options.Team = "",
    task_type: agent_bulk_changes.TaskType = "",
    search: options.Search = "",
    confirm: agent_bulk_changes.Confirm = None,
    batch_size: agent_bulk_changes.BatchSize = None,
    pause: agent_bulk_changes.Pause = None,
    allow_last_agents: agent_bulk_changes.LastAgents = False,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """End the drain of an agent, or of many.

    \b
    cpctl agents resume prod-eu-1
    cpctl agents resume -l team=ml --dry-run
    """
    selection = Selection(selector, environment, state, team, task_type, search)
    change = options.ChangeOptions(message, dry_run, yes)
    if not agent_bulk_changes.are_many(names, selection):
        return decide("resume", names, None, change, output)
    body = {
        "selector": agent_bulk_changes.selector_of(names, selection),
        "reason": message or "Resume many agents.",
    }
    pace = Pace(confirm, batch_size, pause, allow_last_agents)
    return agent_bulk_changes.start("resume", body, pace, change, output)


def approve(
    names: Names = None,
    *,
    selector: options.Selector = "",
    environment: agent_bulk_changes.Environment = "",
    state: options.State = "",
    team: options.Team = "",
    task_type: agent_bulk_changes.TaskType = "",
    search: options.Search = "",
    confirm: agent_bulk_changes.Confirm = None,
    batch_size: agent_bulk_changes.BatchSize = None,
    pause: agent_bulk_changes.Pause = None,
    allow_last_agents: agent_bulk_changes.LastAgents = False,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Approve an agent that is waiting for approval, or many.

    \b
    cpctl agents approve prod-eu-2
    cpctl agents approve --environment prod-eu-west-1 --dry-run
    """
    selection = Selection(selector, environment, state, team, task_type, search)
    change = options.ChangeOptions(message, dry_run, yes)
    if not agent_bulk_changes.are_many(names, selection):
        return decide("approve", names, None, change, output)
    body = {
        "selector": agent_bulk_changes.selector_of(names, selection),
        "reason": message or "Approve many agents.",
    }
    pace = Pace(confirm, batch_size, pause, allow_last_agents)
    return agent_bulk_changes.start("approve", body, pace, change, output)


def retire(
    names: Names = None,
    *,
    selector: options.Selector = "",
    environment: agent_bulk_changes.Environment = "",
    state: options.State = "",
    team: options.Team = "",
    task_type: agent_bulk_changes.TaskType = "",
    search: options.Search = "",
    confirm: agent_bulk_changes.Confirm = None,
    batch_size: agent_bulk_changes.BatchSize = None,
    pause: agent_bulk_changes.Pause = None,
    allow_last_agents: agent_bulk_changes.LastAgents = False,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Retire an agent, or many, and revoke their tokens.

    \b
    cpctl agents retire prod-eu-3 -m "Hardware is returned"
    cpctl agents retire --state unavailable --environment prod-eu-west-1 --dry-run
    """
    selection = Selection(selector, environment, state, team, task_type, search)
    change = options.ChangeOptions(message, dry_run, yes)
    if not agent_bulk_changes.are_many(names, selection):
        return decide("retire", names, None, change, output)
    body = {
        "selector": agent_bulk_changes.selector_of(names, selection),
        "reason": message or "Retire many agents.",
    }
    pace = Pace(confirm, batch_size, pause, allow_last_agents)
    return agent_bulk_changes.start("retire", body, pace, change, output)


def decide(verb: str, names: list[str] | None, body: Any, change: options.ChangeOptions, how: Format) -> None:
    (name,) = names or [""]
    get.show(AGENT, [perform(verb, name, body, change)], how)


def perform(verb: str, name: str, body: Any, change: options.ChangeOptions, **query: bool) -> Any:
    api = SESSION.api()
    agent = get.find(api, AGENT, name)
    words = verb.capitalize().replace("-", " ")
    change.ask(f"{words} {agent['name']}, which is {agent['health_status']}?")
    path = f"agents/{agent['agent_id']}:{verb}"
    return api.post(path, body, query={**change.query(), **query}).json()
