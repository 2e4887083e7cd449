"""Changes that many commands share: put over what stands, create, delete."""

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
Id = Annotated[str, typer.Argument(metavar="ID")]


def create(kind: Kind, body: Any, terms: options.Decision, how: Format, *, asked: str) -> None:
    terms.ask(asked)
    made = SESSION.api().post(kind.path, body, query=terms.query()).json()
    get.show(kind, [made], how)


def create_secret(kind: Kind, body: Any, terms: options.Decision, how: Format, *, asked: str) -> None:
    """Make what has a token, and print that alone: it is shown once."""
    terms.ask(asked)
    made = SESSION.api().post(kind.path, body, query=terms.query()).json()
    if how.is_whole:
        say(*document(made, how))
    elif not terms.dry_run:
        say(made["token"])


def put(
    kind: Kind,
    name: str,
    body: Mapping[str, Any],
    terms: options.Decision,
    how: Format,
    **more: Any,
) -> None:
    """Put it over what stands now, or where nothing stands."""
    headers = over_what_stands(place_of(kind, name))
    terms.ask(f"Set {name}?" if "If-Match" in headers else f"Create {name}?")
    query = {**terms.query(), **more}
    answer = SESSION.api().send("PUT", place_of(kind, name), body, query=query, headers=headers)
    get.show(kind, [answer.json()], how)


def delete(path: str, name: str, terms: options.Decision, query: Mapping[str, Any] | None = None) -> None:
    """Delete what was seen, and not what somebody put there meanwhile."""
    api = SESSION.api()
    etag = api.get(path, query).etag
    terms.ask(f"Delete {name}?")
    api.send("DELETE", path, query={**(query or {}), **terms.query()}, headers={"If-Match": etag})
    terms.tell(f"{name} is deleted.")


def take_back(path: str, what: str, terms: options.Decision) -> None:
    """End what has an id and no versions, such as a token."""
    terms.ask(f"End {what}?")
    SESSION.api().send("DELETE", path, query=terms.query())
    terms.tell(f"{what[0].upper()}{what[1:]} is ended.")


def over_what_stands(path: str) -> dict[str, str]:
    try:
        return {"If-Match": SESSION.api().get(path).etag}
    except ApiError as error:
        if error.status != 404:
            raise
        return {"If-None-Match": "*"}


def standing(path: str) -> dict[str, Any]:
    """What stands there; nothing if nothing does."""
    try:
        return dict(SESSION.api().get(path).json())
    except ApiError as error:
        if error.status != 404:
            raise
        return {}


def place_of(kind: Kind, name: str) -> str:
    return f"{kind.path}/{segment(name)}"


def object_in(file: str) -> dict[str, Any]:
    """The one object that a file holds. Raises UsageError."""
    found = files.documents(files.read([file]))
    if len(found) != 1 or not isinstance(found[0], dict):
        raise UsageError(f"{file} does not hold one object.")
    return found[0]


def said(**values: Any) -> dict[str, Any]:
    """Those that were given."""
    return {name: value for name, value in values.items() if value not in ("", None, [])}
