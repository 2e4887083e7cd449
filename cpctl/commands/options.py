"""Options that several commands share, written once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import typer

from cpctl import completing
from cpctl.output import Format
from cpctl.scopes import scope_query

Project = Annotated[str, typer.Option("-p", "--project", help="Project.", autocompletion=completing.projects)]
Domain = Annotated[str, typer.Option("-d", "--domain", help="Domain.", autocompletion=completing.domains)]
Workflow = Annotated[str, typer.Option("-w", "--workflow", help="Workflow; needs project and domain.")]
LaunchPlan = Annotated[str, typer.Option("--launch-plan", help="Launch plan; needs a workflow.")]
Output = Annotated[Format, typer.Option("-o", "--output", help="How to show it.")]
NoHeaders = Annotated[bool, typer.Option("--no-headers", help="Leave the titles of columns out.")]
AsOf = Annotated[str, typer.Option("--as-of", help="Look back: a revision, or an RFC 3339 time.")]
Message = Annotated[str, typer.Option("-m", "--message", help="Why; kept in the history and the audit log.")]
Manager = Annotated[
    str,
    typer.Option("--manager", envvar="CPCTL_MANAGER", help="Who manages these values; else api."),
]
Force = Annotated[bool, typer.Option("--force", help="Take values from their managers.")]
Confirm = Annotated[
    int | None, typer.Option("--confirm", help="The number of affected scopes that you were told of.")
]
Yes = Annotated[bool, typer.Option("-y", "--yes", help="Do not ask.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Show the plan and change nothing.")]
TypeName = Annotated[
    str, typer.Argument(metavar="TYPE", help="Resource type.", autocompletion=completing.types)
]


# As the API's own apply has it, so that what one command set another may change.
_MANAGER = "api"


@dataclass(frozen=True, slots=True)
class Terms:
    """On what terms something is changed, as the API takes it."""

    message: str = ""
    manager: str = ""
    force: bool = False
    confirm: int | None = None

    def query(self, **more: Any) -> dict[str, Any]:
        manager = self.manager or _MANAGER
        said = {"change_message": self.message, "managed_by": manager, "force": self.force}
        return {**said, "confirm": self.confirm, **more}


def scope_of(names: Sequence[str]) -> dict[str, str]:
    project, domain, workflow, launch_plan = names
    return scope_query(project, domain, workflow, launch_plan)
