"""Changes shared by many commands: create, replace and delete."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

import typer

from cpctl import files
from cpctl.columns import Kind
from cpctl.commands import get, options
from cpctl.errors import ApiError, UsageError
from cpctl.output import Format, document, say
from cpctl.paths import segment
from cpctl.session import SESSION

File = Annotated[str, typer.Option("-f", "--file", help="File, or - for standard input.")]
Id = Annotated[str, typer.Argument(metavar="ID", help="Id, as shown by `list`.")]


def create(kind: Kind, body: Any, change: options.ChangeOptions, how: Format, *, question: str) -> None:
    change.ask(question)
    made = SESSION.api().post(kind.path, body, query=change.query()).json()
    get.show(kind, [made], how)


def create_secret(
    kind: Kind,
    body: Any,
    change: options.ChangeOptions,
    how: Format,
    *,
    question: str,
    printed_field: str = "token",
) -> None:
    """Create an object with a secret, and print only the secret, which is shown once."""
    change.ask(question)
    made = SESSION.api().post(kind.path, body, query=change.query()).json()
    if how.is_whole:
        say(*document(made, how))
    elif not made.get(printed_field):
        get.show(kind, [made], how)
    elif not change.dry_run:
        say(made[printed_field])


def show_whole(kind: Kind, name: str, how: Format) -> None:
    """Print one object: all of it, or its row of the table."""
    item = SESSION.api().get(path_of(kind, name)).json()
    if how.is_whole:
        say(*document(item, how))
    else:
        get.show(kind, [item], how)


def put(
    kind: Kind,
    name: str,
    body: Mapping[str, Any],
    change: options.ChangeOptions,
    how: Format,
    **more: Any,
) -> None:
    """Create the object, or replace its current version."""
    headers = precondition_headers(path_of(kind, name))
    change.ask(f"Set {name}?" if "If-Match" in headers else f"Create {name}?")
    query = {**change.query(), **more}
    answer = SESSION.api().send("PUT", path_of(kind, name), body, query=query, headers=headers)
    get.show(kind, [answer.json()], how)


def delete(
    path: str, name: str, change: options.ChangeOptions, query: Mapping[str, Any] | None = None
) -> None:
    """Delete the current version of the object."""
    api = SESSION.api()
    etag = api.get(path, query).etag
    change.ask(f"Delete {name}?")
    api.send("DELETE", path, query={**(query or {}), **change.query()}, headers={"If-Match": etag})
    change.tell(f"{name} deleted.")


def delete_by_id(path: str, what: str, change: options.ChangeOptions, *, verb: str, done: str) -> None:
    """Delete an object without versions, such as a token."""
    change.ask(f"{verb} {what}?")
    SESSION.api().send("DELETE", path, query=change.query())
    change.tell(f"{what[0].upper()}{what[1:]} is {done}.")


def precondition_headers(path: str) -> dict[str, str]:
    try:
        return {"If-Match": SESSION.api().get(path).etag}
    except ApiError as error:
        if error.status != 404:
            raise
        return {"If-None-Match": "*"}


def current_object(path: str) -> dict[str, Any]:
    """Return the current object; empty if it does not exist."""
    try:
        return dict(SESSION.api().get(path).json())
    except ApiError as error:
        if error.status != 404:
            raise
        return {}


def path_of(kind: Kind, name: str) -> str:
    return f"{kind.path}/{segment(name)}"


def without_fields(shown: Mapping[str, Any], read_only: frozenset[str]) -> dict[str, Any]:
    """Return the object without its read-only fields, which `show` prints as well."""
    return {name: value for name, value in shown.items() if name not in read_only}


def object_in(file: str) -> dict[str, Any]:
    """Return the only object in a file. Raises UsageError."""
    documents = files.documents(files.read([file]))
    if len(documents) != 1 or not isinstance(documents[0], dict):
        raise UsageError(f"{file} must contain exactly one object.")
    return documents[0]


def non_empty(**values: Any) -> dict[str, Any]:
    """Return the values that are not empty."""
    return {name: value for name, value in values.items() if value not in ("", None, [])}
