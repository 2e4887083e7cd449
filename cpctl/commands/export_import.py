"""`export` and `import`: everything out, and Flyte's settings in."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from cpctl import files
from cpctl.commands import options
from cpctl.commands.apply import go_on, waiting
from cpctl.contexts import read_token
from cpctl.errors import UsageError
from cpctl.output import Format, say
from cpctl.paths import YAML
from cpctl.plans import confirmation
from cpctl.session import SESSION

imports = typer.Typer(help="Bring settings over from Flyte.", no_args_is_help=True)
Prune = Annotated[bool, typer.Option("--prune", help="Remove what the manager states no more.")]
Create = Annotated[bool, typer.Option("--create-projects", help="Register projects that are missing.")]


class Layout(StrEnum):
    DOCUMENTS = "documents"
    CONFIGMAP = "configmap"


def export(
    *,
    layout: Annotated[Layout, typer.Option("--format", help="How to lay it out.")] = Layout.DOCUMENTS,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    manager: Annotated[str, typer.Option("--manager", help="Only values that this manager manages.")] = "",
    as_of: options.AsOf = "",
    output: Annotated[str, typer.Option("-o", "--output", help="A file; else standard output.")] = "",
) -> None:
    """Write everything that is set, as YAML that `apply` takes. The same content gives the same bytes.

    With a scope or a manager: only overrides, at or below that scope or of that manager.

    \b
    cpctl export -o overrides.yaml
    cpctl export --format configmap -o overrides.yaml
    cpctl export -p flytesnacks --manager git -o git.yaml
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    query = {**scope, "format": layout, "managed_by": manager, "as_of": as_of}
    text = SESSION.api().get("overrides/export", query, accept=YAML).text
    if not output:
        return say(text.rstrip("\n"))
    files.write(text, output)
    return SESSION.tell(f"Written to {output}.")


@imports.command("flyteadmin")
def import_flyteadmin(
    *,
    url: Annotated[str, typer.Argument(help="Such as https://flyte.example.com.")],
    flyte_token_file: Annotated[str, typer.Option(help="A file with a token for it; - is stdin.")] = "",
    manager: options.Manager = "import",
    create_projects: Create = False,
    prune: Prune = False,
    force: options.Force = False,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Import the matchable attributes of a running FlyteAdmin.

    \b
    cpctl import flyteadmin https://flyte.example.com --dry-run
    """
    token = read_token(flyte_token_file) if flyte_token_file else ""
    wanted = _wanted(manager, create_projects=create_projects, prune=prune, force=force)
    body = {**wanted, "flyteadmin": {"url": url, "token": token}}
    _import(body, message, output, confirm=confirm, dry_run=dry_run, yes=yes)


@imports.command("flytectl-files")
def import_flytectl_files(
    *,
    file: Annotated[list[str], typer.Argument(help="Files of flytectl, or folders with them.")],
    kind: Annotated[str, typer.Option(help="Of all files, where their keys do not tell.")] = "",
    recursive: Annotated[bool, typer.Option("-R", "--recursive", help="Look into sub-folders too.")] = False,
    manager: options.Manager = "import",
    create_projects: Create = False,
    prune: Prune = False,
    force: options.Force = False,
    confirm: options.Confirm = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Import files as `flytectl update … --attrFile` takes them.

    \b
    cpctl import flytectl-files tra.yaml --create-projects
    """
    texts = dict(files.texts(file, deep=recursive))
    wanted = _wanted(manager, create_projects=create_projects, prune=prune, force=force)
    body = {**wanted, "flytectl_files": texts, **({"kind": kind} if kind else {})}
    _import(body, message, output, confirm=confirm, dry_run=dry_run, yes=yes)


def _wanted(manager: str, **flags: bool) -> dict[str, Any]:
    if not manager:
        raise UsageError("An import needs a manager.")
    return {"manager": manager, **flags}


def _import(
    body: dict[str, Any], message: str, how: Format, *, confirm: str, dry_run: bool, yes: bool
) -> None:
    api = SESSION.api()
    query = {"change_message": message, "confirm": confirm}
    with waiting("Reading"):
        found = api.post("overrides:import", body, query={**query, "dry_run": True}).json()
    for one in found["skipped"]:
        SESSION.tell(f"Left out: {one['place']}: {one['reason']}")
    if not go_on(found["plan"], "Import this?", how, yes=yes or dry_run) or dry_run:
        return
    if not yes:
        query["confirm"] = confirmation(found["plan"])
    with waiting("Importing"):
        done = api.post("overrides:import", body, query=query).json()
    SESSION.tell(f"Imported as revision {done['plan']['revision']}.")
