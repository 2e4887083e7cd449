"""Changes of many agents: `agents drain -l …` and its like, and the commands `agents bulk`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cpctl.agent_kinds import AGENT, BULK_CHANGE, BULK_CHANGE_AGENT
from cpctl.commands import get, options
from cpctl.errors import UsageError
from cpctl.output import Format, counted
from cpctl.paths import segment
from cpctl.session import SESSION

bulk = typer.Typer(help="List, show, cancel and undo changes of many agents.", no_args_is_help=True)
Id = Annotated[str, typer.Argument(metavar="ID")]
TaskType = Annotated[str, typer.Option("--task-type", help="Agents that serve this task type.")]
Environment = Annotated[str, typer.Option(help="Agents of this environment.")]
Confirm = Annotated[int | None, typer.Option(min=0, help="Number of agents, to change more than ten.")]
BatchSize = Annotated[int | None, typer.Option(min=1, max=1000, help="Agents per batch. Default: 100.")]
Pause = Annotated[int | None, typer.Option(min=0, max=3600, help="Seconds between batches. Default: 5.")]
LastAgents = Annotated[
    bool, typer.Option("--allow-last-agents", help="Also the last ready agent of a task type.")
]


@dataclass(frozen=True, slots=True)
class Selection:
    """The options that select agents; all empty for none."""

    selector: str = ""
    environment: str = ""
    state: str = ""
    team: str = ""
    task_type: str = ""
    search: str = ""

    def body(self) -> dict[str, Any]:
        """Return the selector of the API."""
        texts = {
            **{"label_selector": self.selector, "environment": self.environment, "team": self.team},
            **{"task_type": self.task_type, "q": self.search},
        }
        states = [word.strip() for word in self.state.split(",") if word.strip()]
        return {
            **{name: text for name, text in texts.items() if text},
            **({"state": states} if states else {}),
        }


@dataclass(frozen=True, slots=True)
class Pace:
    """How a bulk change proceeds. None: the default of the API."""

    confirm: int | None = None
    batch_size: int | None = None
    pause_seconds: int | None = None
    allow_last_agents: bool = False

    def body(self) -> dict[str, Any]:
        numbers = {name: getattr(self, name) for name in ("confirm", "batch_size", "pause_seconds")}
        given = {name: number for name, number in numbers.items() if number is not None}
        return {**given, **({"allow_last_agents": True} if self.allow_last_agents else {})}


def are_many(names: Sequence[str] | None, selection: Selection) -> bool:
    """True if several names, or options, select agents. Raises UsageError unless there is one of both."""
    is_selected = bool(selection.body())
    if bool(names) == is_selected:
        raise UsageError(
            "Give names of agents, or options that select agents.",
            hint="-l team=ml, --environment prod",
        )
    return is_selected or len(names or ()) > 1


def selector_of(names: Sequence[str] | None, selection: Selection) -> dict[str, Any]:
    """Return the selector of the API. Raises NotFound for a name that no agent has."""
    if not names:
        return selection.body()
    api = SESSION.api()
    return {"agent_ids": [get.find(api, AGENT, name)["agent_id"] for name in names]}


def start(verb: str, body: dict[str, Any], pace: Pace, change: options.ChangeOptions, output: Format) -> None:
    """Show the impact, ask, and start the bulk change. body: selector, reason and what the verb needs."""
    api = SESSION.api()
    path = f"agents:{verb}"
    rehearsed = api.post(path, {**body, **pace.body()}, query={"dry_run": True}).json()
    impact = rehearsed["impact"]
    for line in describe(verb, impact):
        SESSION.tell(line)
    if change.dry_run:
        return None
    change.ask(f"{verb.capitalize()} {counted(impact['agents'], 'agent')}?")
    # Who answered the question has seen the number. With --yes, nobody has.
    seen = {} if change.yes or impact["confirm"] is None else {"confirm": impact["agents"]}
    started = api.post(path, {**body, **seen, **pace.body()}).json()
    get.show(BULK_CHANGE, [started], output)
    return SESSION.tell(f"Follow it with: cpctl agents bulk show {started['id']}")


def describe(verb: str, impact: dict[str, Any]) -> list[str]:
    """Return the impact in lines."""
    states = ", ".join(f"{count} {state}" for state, count in impact["by_state"].items())
    lines = [
        f"{verb.capitalize()} {counted(impact['agents'], 'agent')} in "
        f"{counted(impact['environment_count'], 'environment')}"
        f"{f' ({states})' if states else ''}; {impact['unchanged']} others match and do not change."
    ]
    lines += [
        f"No ready agent of {lost['task_type']} would remain in {lost['environment']}."
        for lost in impact["last_agents"]
    ]
    if impact["work_in_progress"]:
        lines.append(f"These agents have {counted(impact['work_in_progress'], 'resource')}.")
    return lines


@bulk.command("list")
def list_bulk_changes(
    *,
    state: Annotated[str, typer.Option(help="Only in this state, such as running.")] = "",
    action: Annotated[str, typer.Option(help="Only this action, such as drain.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List changes of many agents, the newest first.

    \b
    cpctl agents bulk list --state running
    """
    query = {"state": state, "action": action}
    get.list_of(BULK_CHANGE, query, output, headers=not no_headers, limit=limit)


@bulk.command("show")
def show_bulk_change(change_id: Id, *, output: options.Output = Format.YAML) -> None:
    """Show a change of many agents: its progress, impact and problem.

    \b
    cpctl agents bulk show 019a9f5e-7c00-7000-8000-000000000031
    """
    get.describe(kind=BULK_CHANGE.name, name=change_id, output=output)


@bulk.command("agents")
def list_changed_agents(
    change_id: Id,
    *,
    state: Annotated[str, typer.Option(help="Only in this state, such as failed.")] = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List the agents of a change, with the reason where one failed or was skipped.

    \b
    cpctl agents bulk agents 019a9f5e-7c00-7000-8000-000000000031 --state failed
    """
    pages = SESSION.api().pages(f"{_path(change_id)}/agents", {"state": state}, most=limit)
    get.show_pages(BULK_CHANGE_AGENT, pages, output, headers=not no_headers)


@bulk.command()
def cancel(
    change_id: Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Cancel a running change: agents that are still pending stay as they are.

    \b
    cpctl agents bulk cancel 019a9f5e-7c00-7000-8000-000000000031
    """
    _end("cancel", change_id, options.ChangeOptions(message, dry_run, yes), output)


@bulk.command()
def undo(
    change_id: Id,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Undo a drain or resume of many agents, except where somebody changed the agent since.

    \b
    cpctl agents bulk undo 019a9f5e-7c00-7000-8000-000000000031
    """
    _end("undo", change_id, options.ChangeOptions(message, dry_run, yes), output)


def _end(verb: str, change_id: str, change: options.ChangeOptions, output: Format) -> None:
    change.ask(f"{verb.capitalize()} the bulk change {change_id}?")
    ended = SESSION.api().post(f"{_path(change_id)}:{verb}", None, query=change.query()).json()
    get.show(BULK_CHANGE, [ended], output)


def _path(change_id: str) -> str:
    return f"{BULK_CHANGE.path}/{segment(change_id)}"
