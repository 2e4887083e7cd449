"""The commands `effective`: effective values, as they change, and their snapshots as files."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.commands import options
from cpctl.commands.effective_values import follow_values, show_values
from cpctl.errors import Failed, UsageError
from cpctl.output import Format, counted, document, say
from cpctl.portable.snapshots import Snapshot, SnapshotRefused, read_snapshot
from cpctl.scopes import SEGMENTS, scope_text
from cpctl.session import SESSION

effective = typer.Typer()


@effective.callback(invoke_without_command=True)
def show_effective(
    ctx: typer.Context,
    *,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    resource_type: Annotated[
        str, typer.Option("--type", help="Only this resource type.", autocompletion=completion.types)
    ] = "",
    as_of: options.AsOf = "",
    watch: Annotated[bool, typer.Option("--watch", help="Follow changes.")] = False,
    once: Annotated[bool, typer.Option("--once", help="Stop watching after the first change.")] = False,
    timeout: Annotated[
        float | None, typer.Option(min=0, help="Stop watching after this many seconds, with exit code 6.")
    ] = None,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """Show the effective values at a scope, follow them, and keep signed snapshots of them.

    \b
    cpctl effective -p flytesnacks -d development
    cpctl effective --watch -p flytesnacks -d development
    cpctl effective --watch --once --timeout 60 --type task_resource
    """
    if ctx.invoked_subcommand:
        return None
    if not watch and (once or timeout is not None):
        raise UsageError("--once and --timeout are about watching.", hint="add --watch")
    if watch and as_of:
        raise UsageError("Past values do not change. Use either --watch or --as-of.")
    scope = options.scope_of((project, domain, workflow, launch_plan))
    query = {**scope, "resource_type": resource_type, "as_of": as_of}
    if watch:
        return follow_values(query, output, headers=not no_headers, once=once, timeout=timeout)
    return show_values(query, output, headers=not no_headers)


@effective.command("snapshot")
def snapshot(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write it.")],
    *,
    scope: Annotated[
        list[str] | None,
        typer.Option(help="Scope, such as 'project=flytesnacks domain=development', or global. Repeatable."),
    ] = None,
    resource_type: Annotated[str, typer.Option("--type", help="Only this resource type.")] = "",
    valid_seconds: Annotated[
        int | None, typer.Option(help="How long it can be used. Default: a day.")
    ] = None,
) -> None:
    """Write a signed snapshot of the effective values of some scopes. Default: the global scope.

    \b
    cpctl effective snapshot values.json --scope 'project=flytesnacks domain=development'
    """
    body: dict[str, Any] = {"scopes": [_scope(text) for text in scope or ["global"]]}
    body |= {"resource_type": resource_type, "valid_seconds": valid_seconds}
    request = {name: value for name, value in body.items() if value}
    answer = SESSION.api().post("overrides/effective:snapshot", request)
    try:
        file.write_bytes(answer.body)
    except OSError as error:
        raise UsageError(f"{file} cannot be written: {error.strerror}.") from error
    say(f"{file}: {_summary(_read(answer.body, None, timedelta.max))}")


@effective.command("verify")
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A snapshot.")],
    *,
    key: Annotated[list[Path], typer.Option(help="File with a public key (PEM). Repeatable.")],
    max_age_seconds: Annotated[
        int | None, typer.Option(min=0, help="Maximum age. Default: what the snapshot says.")
    ] = None,
    output: options.Output = Format.TABLE,
) -> None:
    """Verify the signature and age of a snapshot, without a server. Exits with 1 if it must not be used.

    \b
    cpctl effective verify values.json --key public.pem
    """
    text, keys = _contents(file), [_contents(path) for path in key]
    max_age = None if max_age_seconds is None else timedelta(seconds=max_age_seconds)
    verified = _read(text, keys, max_age)
    if output.is_whole:
        return say(*document({"revision": verified.revision, "items": list(verified.items.values())}, output))
    say(f"{file}: verified, {_summary(verified)}")
    for item in verified.items.values():
        types = ", ".join(each["resource_type"] for each in item["items"])
        say(f"  {scope_text(item['scope'])}: {types or '-'}")
    return None


def _scope(text: str) -> dict[str, str]:
    """Read a scope in the form in which cpctl prints it."""
    pairs = [] if text == "global" else [pair.partition("=") for pair in text.split()]
    scope = {name: value for name, _, value in pairs}
    if (text != "global" and not pairs) or not set(scope) <= set(SEGMENTS) or not all(scope.values()):
        raise UsageError(
            f"{text!r} is not a scope.", hint="--scope 'project=flytesnacks domain=development', or global"
        )
    return scope


def _read(text: bytes, keys: list[bytes] | None, max_age: timedelta | None) -> Snapshot:
    try:
        return read_snapshot(text, keys, max_age=max_age)
    except SnapshotRefused as error:
        raise Failed(str(error)) from error


def _contents(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}.") from error


def _summary(contents: Snapshot) -> str:
    age = int(contents.age().total_seconds())
    return f"revision {contents.revision}, {counted(len(contents.items), 'scope')}, {max(age, 0)} s old"
