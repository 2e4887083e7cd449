"""The commands `jobs`: job.yaml of schedulers, and what a run of a job would get."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cpctl import files
from cpctl.commands import options
from cpctl.errors import UsageError
from cpctl.exits import Exit
from cpctl.output import Format, document, say
from cpctl.session import SESSION

jobs = typer.Typer(help="Manage jobs, their secrets and runs, and see what a run gets.", no_args_is_help=True)
Job = Annotated[str, typer.Argument(metavar="FILE", help="job.yaml, or - for standard input.")]


@jobs.command()
def validate(
    file: Annotated[list[str], typer.Argument(metavar="FILE...", help="Files, or - for standard input.")],
) -> None:
    """Validate jobs. Exits with 2 if one is invalid.

    \b
    cpctl jobs validate job.yaml
    """
    results = [
        (name, SESSION.api().post("jobs:validate", {"text": text}).json()) for name, text in files.texts(file)
    ]
    for name, result in results:
        say(*_findings(name, result), f"{name}: {'valid' if result['valid'] else 'invalid'}")
    if not all(result["valid"] for _, result in results):
        raise typer.Exit(Exit.USAGE)


@jobs.command()
def preview(
    file: Job,
    *,
    scheduled_at: Annotated[str, typer.Option(help="Time of the run, as 2026-11-23T02:00:00Z.")],
    hook: Annotated[str, typer.Option(help="A hook of the job, instead of its task.")] = "",
    project: Annotated[str, typer.Option("-p", "--project", help="Project of the job.")] = "",
    namespace: Annotated[str, typer.Option(help="Namespace of the job.")] = "",
    setting: Annotated[
        list[str] | None, typer.Option("--set", help="Setting of the project, as NAME=VALUE. Repeatable.")
    ] = None,
    secret: Annotated[
        list[str] | None, typer.Option(help="Name of a secret of the project. Repeatable.")
    ] = None,
    assets: Annotated[Path | None, typer.Option(help="Folder with the job's files.")] = None,
    output: options.Output = Format.YAML,
) -> None:
    """Preview the environment, secrets and files that a run would get. Exits with 2 if it would get none.

    \b
    cpctl jobs preview job.yaml --scheduled-at 2026-11-23T02:00:00Z --set DATASET=warehouse
    cpctl jobs preview job.yaml --scheduled-at 2026-11-23T02:00:00Z --secret DB_PASSWORD -o json
    """
    ((name, text),) = files.texts([file])
    body = {
        "text": text,
        "scheduled_at": scheduled_at,
        **({"instance_type": "hook", "instance_name": hook} if hook else {}),
        "project": project,
        "namespace": namespace,
        "config": dict(map(name_and_value, setting or [])),
        "secret_names": secret or [],
        "assets": asset_texts(assets) if assets else {},
    }
    result = SESSION.api().post("jobs:preview", body).json()
    if not result["valid"]:
        say(*_findings(name, result), f"{name}: invalid")
        raise typer.Exit(Exit.USAGE)
    say(*document(result, output if output.is_whole else Format.YAML))


def name_and_value(text: str) -> tuple[str, str]:
    """Return the parts of NAME=VALUE. Raises UsageError."""
    name, sign, value = text.partition("=")
    if not sign:
        raise UsageError(f"{text!r} is no setting.", hint="write --set NAME=VALUE")
    return name, value


def asset_texts(folder: Path) -> dict[str, str]:
    """Return the texts of all files below a folder by name. Raises UsageError."""
    if not folder.is_dir():
        raise UsageError(f"There is no folder {folder}.")
    found = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): _read(path) for path in found}


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{path} cannot be read as UTF-8 text: {error}.") from error


def _findings(name: str, result: Any) -> list[str]:
    return [
        f"{name}:{entry['line']}:{entry['column']}: {entry['severity']}: {entry['place']}: {entry['message']}"
        f" {entry['hint']}".rstrip()
        for entry in result["diagnostics"]
    ]
