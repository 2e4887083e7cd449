"""Options that several commands share, written once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.commands import output_options
from cpctl.scopes import scope_query
from cpctl.session import SESSION

Project = Annotated[str, typer.Option("-p", "--project", help="Project.", autocompletion=completion.projects)]
Domain = Annotated[str, typer.Option("-d", "--domain", help="Domain.", autocompletion=completion.domains)]
Workflow = Annotated[str, typer.Option("-w", "--workflow", help="Workflow; needs project and domain.")]
LaunchPlan = Annotated[str, typer.Option("--launch-plan", help="Launch plan; needs a workflow.")]
Output = output_options.Output
NoHeaders = Annotated[bool, typer.Option("--no-headers", help="Leave the titles of columns out.")]
AsOf = Annotated[str, typer.Option("--as-of", help="Look back: a revision, or an RFC 3339 time.")]
Message = Annotated[str, typer.Option("-m", "--message", help="Why; kept in the history and the audit log.")]
Manager = Annotated[
    str,
    typer.Option("--manager", envvar="CPCTL_MANAGER", help="Who manages these values; else api."),
]
Force = Annotated[bool, typer.Option("--force", help="Take values from their managers.")]
Confirm = Annotated[
    str,
    typer.Option("--confirm", help="What the plan names: the number of affected scopes, or its digest."),
]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and change nothing.")]
Limit = Annotated[int | None, typer.Option(min=1, help="At most so many.")]
Since = Annotated[str, typer.Option(help="Only what is newer: a duration such as 2h, or an RFC 3339 time.")]
State = Annotated[str, typer.Option(help="Only agents in this state, such as ready.")]
ServiceType = Annotated[str, typer.Option(help="Only agents that provide this.")]
Selector = Annotated[str, typer.Option("-l", "--selector", help="Labels, such as team=ml,tier!=dev.")]
Search = Annotated[str, typer.Option("--search", help="Only names with this in them.")]
Sort = Annotated[str, typer.Option(help="By this field; -field the other way round.")]
Team = Annotated[str, typer.Option(help="Only of this team.")]
DataPlane = Annotated[str, typer.Option(help="Only of this data plane.")]
TypeName = Annotated[
    str, typer.Argument(metavar="TYPE", help="Resource type.", autocompletion=completion.types)
]


# As the API's own apply has it, so that what one command set another may change.
_MANAGER = "api"


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms something is changed, as the API takes it."""

    message: str = ""
    manager: str = ""
    force: bool = False
    confirm: str = ""

    def query(self, **more: Any) -> dict[str, Any]:
        manager = self.manager or _MANAGER
        said = {"change_message": self.message, "managed_by": manager, "force": self.force}
        return {**said, "confirm": self.confirm, **more}


@dataclass(frozen=True, slots=True)
class Decision:
    """A change that is not about overrides: why, and whether it is asked for or only tried."""

    message: str = ""
    dry_run: bool = False
    yes: bool = False

    def query(self) -> dict[str, Any]:
        return {"change_message": self.message, "dry_run": self.dry_run}

    def ask(self, question: str) -> None:
        SESSION.confirm(question, yes=self.yes or self.dry_run)

    def tell(self, done: str) -> None:
        SESSION.tell(f"It would work: {done}" if self.dry_run else done)


def scope_of(names: Sequence[str]) -> dict[str, str]:
    project, domain, workflow, launch_plan = names
    return scope_query(project, domain, workflow, launch_plan)
