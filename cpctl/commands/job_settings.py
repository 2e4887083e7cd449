"""The commands `jobs variables` and `jobs secrets`: what templates of a project's jobs read."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from cpctl.columns import Kind, field, timestamp
from cpctl.commands import get, options
from cpctl.commands.jobs import jobs, name_and_value
from cpctl.errors import UsageError
from cpctl.output import Format, document, say
from cpctl.paths import segment
from cpctl.session import SESSION

SECRET = Kind(
    "job-secrets",
    "job-secrets",
    (field("NAME"), field("NAMESPACE"), field("VERSION"), timestamp("CHANGED", "changed_at")),
)
secrets = typer.Typer(help="Set, list and delete secrets of a project's jobs.", no_args_is_help=True)
jobs.add_typer(secrets, name="secrets")
ProjectOfJob = Annotated[str, typer.Option("-p", "--project", help="Project of the job.")]
Namespace = Annotated[str, typer.Option(help="Namespace within the project.")]


@jobs.command()
def variables(
    *,
    project: ProjectOfJob,
    namespace: Namespace = "",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="NAME=VALUE. Repeatable. The others stay.")
    ] = None,
    unset: Annotated[list[str] | None, typer.Option(help="Name to remove. Repeatable.")] = None,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.YAML,
) -> None:
    """Show the variables of a project's jobs, or change some of them.

    \b
    cpctl jobs variables -p flytesnacks
    cpctl jobs variables -p flytesnacks --set DATASET=sales --yes
    """
    path, query = f"job-variables/{segment(project)}", {"namespace": namespace}
    api = SESSION.api()
    answer = api.get(path, query)
    current: dict[str, Any] = answer.json()
    if setting or unset:
        change = options.ChangeOptions(message, dry_run, yes)
        change.ask(f"Change the variables of {project}?")
        changed = {**current["variables"], **dict(map(name_and_value, setting or []))}
        changed = {name: value for name, value in changed.items() if name not in (unset or [])}
        headers = {"If-Match": answer.etag} if current["version"] else {"If-None-Match": "*"}
        body = {"variables": changed}
        current = api.send("PUT", path, body, query={**query, **change.query()}, headers=headers).json()
    say(*document(current, output if output.is_whole else Format.YAML))


@secrets.command("list")
def list_secrets(
    *,
    project: ProjectOfJob,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List the names of secrets, never their values.

    \b
    cpctl jobs secrets list -p flytesnacks
    """
    kind = Kind(SECRET.name, f"job-secrets/{segment(project)}", SECRET.columns)
    get.list_of(kind, {}, output, headers=not no_headers, limit=limit)


@secrets.command("set")
def set_secret(
    name: Annotated[str, typer.Argument(metavar="NAME", help="As templates read it: .secret.NAME")],
    *,
    project: ProjectOfJob,
    namespace: Namespace = "",
    file: Annotated[
        Path | None, typer.Option("-f", "--file", help="File with the value. Default: standard input.")
    ] = None,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Store a secret. Its value is read from a file or from standard input, never from the command line.

    \b
    cpctl jobs secrets set DB_PASSWORD -p flytesnacks -f password.txt --yes
    """
    value = _secret_text(file)
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Store the secret {name} of {project}?")
    query = {"namespace": namespace, **change.query()}
    path = f"job-secrets/{segment(project)}/{segment(name)}"
    SESSION.api().send("PUT", path, {"value": value}, query=query)
    change.tell(f"Secret {name} is stored.")


def _secret_text(file: Path | None) -> str:
    """Return the value without the final line break, which editors and `echo` add."""
    try:
        text = file.read_text(encoding="utf-8") if file else sys.stdin.read()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file or 'Standard input'} cannot be read as UTF-8 text: {error}.") from error
    value = text.removesuffix("\n").removesuffix("\r")
    if not value:
        raise UsageError("The value of the secret is empty.", hint="write it to standard input or a file")
    return value


@secrets.command("delete")
def delete_secret(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name of the secret.")],
    *,
    project: ProjectOfJob,
    namespace: Namespace = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a secret.

    \b
    cpctl jobs secrets delete DB_PASSWORD -p flytesnacks --yes
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Delete the secret {name} of {project}?")
    query = {"namespace": namespace, **change.query()}
    SESSION.api().send("DELETE", f"job-secrets/{segment(project)}/{segment(name)}", query=query)
    change.tell(f"Secret {name} is deleted.")
