"""Options shared by several commands."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.commands import output_options
from cpctl.durations import read_seconds
from cpctl.scopes import scope_query
from cpctl.session import SESSION


def read_timeout(text: str | float) -> float:
    try:
        return read_seconds(text)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error


Project = Annotated[str, typer.Option("-p", "--project", help="Project.", autocompletion=completion.projects)]
Domain = Annotated[str, typer.Option("-d", "--domain", help="Domain.", autocompletion=completion.domains)]
Workflow = Annotated[str, typer.Option("-w", "--workflow", help="Workflow; requires project and domain.")]
LaunchPlan = Annotated[str, typer.Option("--launch-plan", help="Launch plan; requires a workflow.")]
Output = output_options.Output
NoHeaders = Annotated[bool, typer.Option("--no-headers", help="Omit column headers.")]
AsOf = Annotated[str, typer.Option("--as-of", help="Past state: a revision or an RFC 3339 time.")]
Message = Annotated[
    str, typer.Option("-m", "--message", help="Reason, recorded in the history and the audit log.")
]
Ticket = Annotated[
    str, typer.Option("--ticket", help="Id or address of the task of this change, kept in the history.")
]
Manager = Annotated[
    str,
    typer.Option("--manager", envvar="CPCTL_MANAGER", help="Manager of these values. Default: api."),
]
Force = Annotated[bool, typer.Option("--force", help="Take ownership of values from their managers.")]
Confirm = Annotated[
    str,
    typer.Option("--confirm", help="Confirmation from the plan: number of affected scopes, or digest."),
]
OverrideFreeze = Annotated[
    str, typer.Option("--override-freeze", help="Reason to change overrides in spite of a freeze.")
]
ApprovalOverride = Annotated[
    str,
    typer.Option("--approval-override", help="Reason to change overrides without the needed approvals."),
]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Skip the confirmation.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only show the changes.")]
Timeout = Annotated[
    float,
    typer.Option(
        parser=read_timeout, metavar="DURATION", help="How long to wait: seconds, or 90s, 2m or 1h."
    ),
]
Limit = Annotated[int | None, typer.Option(min=1, help="Maximum number of entries.")]
Since = Annotated[
    str, typer.Option(help="Only entries since then: a duration such as 2h, or an RFC 3339 time.")
]
Until = Annotated[str, typer.Option(help="Only entries before then, written as --since.")]
State = Annotated[str, typer.Option(help="Filter agents and resources by state, such as ready.")]
ServiceType = Annotated[str, typer.Option(help="Filter agents and resources by service type.")]
Selector = Annotated[str, typer.Option("-l", "--selector", help="Label selector, such as team=ml,tier!=dev.")]
Search = Annotated[str, typer.Option("--search", help="Filter by part of the name.")]
Text = Annotated[str, typer.Option("--search", help="Filter by text.")]
Sort = Annotated[
    str, typer.Option(help="Sort by these keys, such as name,-created_at; - for descending order.")
]
Team = Annotated[str, typer.Option(help="Filter by team.")]
DataPlane = Annotated[str, typer.Option(help="Filter by data plane.")]
TypeName = Annotated[
    str, typer.Argument(metavar="TYPE", help="Resource type.", autocompletion=completion.types)
]


# The same default as in the API, so that all commands share one manager.
_MANAGER = "api"


@dataclass(frozen=True, slots=True)
class WriteOptions:
    """Options for changes of overrides."""

    message: str = ""
    manager: str = ""
    force: bool = False
    confirm: str = ""
    override_freeze: str = ""
    approval_override: str = ""
    ticket: str = ""

    def query(self, **more: Any) -> dict[str, Any]:
        manager = self.manager or _MANAGER
        options = {"change_message": self.message, "managed_by": manager, "force": self.force}
        holds = {"override_freeze": self.override_freeze, "approval_override": self.approval_override}
        return {**options, "confirm": self.confirm, "ticket": self.ticket, **holds, **more}


@dataclass(frozen=True, slots=True)
class ChangeOptions:
    """Options for other changes."""

    message: str = ""
    dry_run: bool = False
    yes: bool = False

    def query(self) -> dict[str, Any]:
        return {"change_message": self.message, "dry_run": self.dry_run}

    def ask(self, question: str) -> None:
        """Ask for confirmation; a dry run needs none, and says at the end that it was one."""
        SESSION.rehearses = self.dry_run
        SESSION.confirm(question, yes=self.yes or self.dry_run)

    def tell(self, done: str) -> None:
        SESSION.rehearses = False
        SESSION.tell(f"Dry run: {done}" if self.dry_run else done)


def scope_of(names: Sequence[str]) -> dict[str, str]:
    project, domain, workflow, launch_plan = names
    return scope_query(project, domain, workflow, launch_plan)
