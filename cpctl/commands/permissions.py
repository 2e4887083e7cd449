"""The commands `access can-i`, `who-can` and `matrix`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.access_kinds import MATRIX_ROW
from cpctl.columns import Kind, field
from cpctl.commands import access as access_command
from cpctl.commands import get, options
from cpctl.output import Format
from cpctl.session import SESSION

access = typer.Typer(help="Check permissions: yours, and everybody's.", no_args_is_help=True)
Action = Annotated[str, typer.Argument(metavar="ACTION", help="Action, such as override.write.")]
Owner = Annotated[str, typer.Option("--team", help="Team that owns the object. Default: the platform.")]
_WHO = Kind(MATRIX_ROW.name, MATRIX_ROW.path, (field("PRINCIPAL"), field("KIND")), key="principal")


@access.command("can-i")
def can_i(
    *,
    action: Action,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    team: Owner = "",
) -> None:
    """Check whether an action is allowed to you. Exits with 4 if not.

    \b
    cpctl access can-i agent.write --team ml
    """
    access_command.can_i(
        action=action, project=project, domain=domain, workflow=workflow, launch_plan=launch_plan, team=team
    )


@access.command("who-can")
def who_can(
    *,
    action: Action,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    team: Owner = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List the principals that may perform an action, each once.

    \b
    cpctl access who-can override.write -p flytesnacks -d production
    """
    query = _query(action, (project, domain, workflow, launch_plan), team)
    rows = SESSION.api().items(MATRIX_ROW.path, query)
    names = {row["principal"]: {"principal": row["principal"], "kind": row["kind"]} for row in rows}
    get.show(_WHO, list(names.values()), output, headers=not no_headers)


@access.command("matrix")
def matrix(
    *,
    action: Action,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    team: Owner = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List who may perform an action, with every role binding and team that allows it.

    \b
    cpctl access matrix agent.write --team ml -o wide
    """
    query = _query(action, (project, domain, workflow, launch_plan), team)
    get.list_of(MATRIX_ROW, query, output, headers=not no_headers)


def _query(action: str, names: tuple[str, str, str, str], team: str) -> dict[str, Any]:
    return {"action": action, **options.scope_of(names), **({"team": team} if team else {})}
