"""The commands `export` and `import`."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from cpctl import files
from cpctl.commands import options
from cpctl.commands.apply import confirm_plan, waiting
from cpctl.contexts import read_token
from cpctl.errors import UsageError
from cpctl.output import Format, say
from cpctl.paths import YAML
from cpctl.plans import confirmation
from cpctl.session import SESSION

imports = typer.Typer(help="Import overrides from Flyte.", no_args_is_help=True)
Prune = Annotated[
    bool, typer.Option("--prune", help="Delete values of the manager that are no longer in the source.")
]
Create = Annotated[bool, typer.Option("--create-projects", help="Create missing projects.")]


class Layout(StrEnum):
    DOCUMENTS = "documents"
    CONFIGMAP = "configmap"


def export(
    *,
    layout: Annotated[Layout, typer.Option("--format", help="Format of the output.")] = Layout.DOCUMENTS,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    manager: Annotated[str, typer.Option("--manager", help="Filter by manager of the values.")] = "",
    as_of: options.AsOf = "",
    output: Annotated[
        str, typer.Option("-o", "--output", help="File to write. Default: standard output.")
    ] = "",
) -> None:
    """Export overrides, types and guard rails as YAML for `apply`. The output is deterministic.

    With a scope or manager, only overrides are exported: at or below the scope, or of the manager.

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
    url: Annotated[str, typer.Argument(help="URL of FlyteAdmin, such as https://flyte.example.com.")],
    flyte_token_file: Annotated[
        str, typer.Option(help="File with a token for FlyteAdmin; - for standard input.")
    ] = "",
    manager: options.Manager = "import",
    create_projects: Create = False,
    prune: Prune = False,
    force: options.Force = False,
    confirm: options.Confirm = "",
    override_freeze: options.OverrideFreeze = "",
    approval_override: options.ApprovalOverride = "",
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
    import_options = _import_options(manager, create_projects=create_projects, prune=prune, force=force)
    body = {**import_options, "flyteadmin": {"url": url, "token": token}}
    more = {"confirm": confirm, "override_freeze": override_freeze, "approval_override": approval_override}
    _import(body, {"change_message": message, **more}, output, dry_run=dry_run, yes=yes)


@imports.command("flytectl-files")
def import_flytectl_files(
    *,
    file: Annotated[list[str], typer.Argument(help="Files of flytectl, or folders with such files.")],
    kind: Annotated[str, typer.Option(help="Kind of all files, if their keys are ambiguous.")] = "",
    recursive: Annotated[bool, typer.Option("-R", "--recursive", help="Search subfolders too.")] = False,
    manager: options.Manager = "import",
    create_projects: Create = False,
    prune: Prune = False,
    force: options.Force = False,
    confirm: options.Confirm = "",
    override_freeze: options.OverrideFreeze = "",
    approval_override: options.ApprovalOverride = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Import attribute files of `flytectl update … --attrFile`.

    \b
    cpctl import flytectl-files tra.yaml --create-projects
    """
    texts = dict(files.texts(file, deep=recursive))
    import_options = _import_options(manager, create_projects=create_projects, prune=prune, force=force)
    body = {**import_options, "flytectl_files": texts, **({"kind": kind} if kind else {})}
    more = {"confirm": confirm, "override_freeze": override_freeze, "approval_override": approval_override}
    _import(body, {"change_message": message, **more}, output, dry_run=dry_run, yes=yes)


def _import_options(manager: str, **flags: bool) -> dict[str, Any]:
    if not manager:
        raise UsageError("An import requires --manager.")
    return {"manager": manager, **flags}


def _import(body: dict[str, Any], query: dict[str, Any], how: Format, *, dry_run: bool, yes: bool) -> None:
    api = SESSION.api()
    with waiting("Reading"):
        preview = api.post("overrides:import", body, query={**query, "dry_run": True}).json()
    for skipped in preview["skipped"]:
        SESSION.tell(f"Skipped: {skipped['place']}: {skipped['reason']}")
    if not confirm_plan(preview["plan"], "Import this?", how, yes=yes or dry_run) or dry_run:
        return
    if not yes:
        query["confirm"] = confirmation(preview["plan"])
    with waiting("Importing"):
        done = api.post("overrides:import", body, query=query).json()
    SESSION.tell(f"Imported as revision {done['plan']['revision']}.")
