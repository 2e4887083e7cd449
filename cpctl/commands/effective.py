"""The commands `effective`: snapshots of effective values as files, and their verification."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Annotated, Any

import typer

from cpctl.commands import options
from cpctl.errors import Failed, UsageError
from cpctl.output import Format, document, say
from cpctl.portable.snapshots import Snapshot, SnapshotRefused, read_snapshot
from cpctl.scopes import SEGMENTS, scope_text
from cpctl.session import SESSION

effective = typer.Typer(
    help="Keep signed snapshots of effective values, for when the server is away.", no_args_is_help=True
)


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
    return f"revision {contents.revision}, {len(contents.items)} scopes, {max(age, 0)} s old"
