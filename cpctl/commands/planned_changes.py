"""Changes of guard rails and resource types, with a plan and confirmation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from cpctl.columns import Kind
from cpctl.commands import change_options, get, options
from cpctl.commands.apply import show_plan
from cpctl.output import Format, document, say
from cpctl.plans import confirmation
from cpctl.session import SESSION

Send = Callable[[Mapping[str, Any]], Any]


def create(
    kind: Kind, body: Any, change: options.ChangeOptions, how: Format, *, confirm: str, question: str
) -> None:
    """Create an object after confirmation of its plan."""

    def send(query: Mapping[str, Any]) -> Any:
        parameters = {**change.query(), "confirm": confirm, **query}
        return SESSION.api().post(kind.path, body, query=parameters).json()

    _send_planned(send, kind, change, how, question)


def put(
    kind: Kind, name: str, body: Mapping[str, Any], change: options.ChangeOptions, how: Format, **more: Any
) -> None:
    """Create or replace an object after confirmation of its plan."""
    path = change_options.path_of(kind, name)
    headers = change_options.precondition_headers(path)

    def send(query: Mapping[str, Any]) -> Any:
        parameters = {**change.query(), **more, **query}
        return SESSION.api().send("PUT", path, body, query=parameters, headers=headers).json()

    question = f"Set {name}?" if "If-Match" in headers else f"Create {name}?"
    _send_planned(send, kind, change, how, question)


def undelete(kind: Kind, name: str, change: options.ChangeOptions, how: Format, **more: Any) -> None:
    """Restore a deleted object after confirmation of its plan."""
    path = f"{change_options.path_of(kind, name)}:undelete"

    def send(query: Mapping[str, Any]) -> Any:
        parameters = {**change.query(), **more, **query}
        return SESSION.api().post(path, query=parameters).json()

    _send_planned(send, kind, change, how, f"Restore {name}?")


def delete(path: str, name: str, change: options.ChangeOptions, confirm: str) -> None:
    """Delete the current version of an object after confirmation of its plan."""
    api = SESSION.api()
    headers = {"If-Match": api.get(path).etag}
    plan = api.send("DELETE", path, query={**change.query(), "dry_run": True}, headers=headers).json()
    show_plan(plan, Format.TABLE)
    if change.dry_run:
        return
    change.ask(f"Delete {name}?")
    agreed = {"confirm": confirm if change.yes else confirmation(plan)}
    api.send("DELETE", path, query={**change.query(), **agreed}, headers=headers)
    change.tell(f"{name} deleted.")


def _send_planned(send: Send, kind: Kind, change: options.ChangeOptions, how: Format, question: str) -> None:
    """Send a dry run, show its plan, ask for confirmation, then send the change."""
    planned = send({"dry_run": True})
    if change.dry_run:
        return _show_dry_run(kind, planned, how)
    if not how.is_whole:
        show_plan(planned["plan"], Format.TABLE)
    change.ask(question)
    done = send({} if change.yes else {"confirm": confirmation(planned["plan"])})
    return get.show(kind, [done], how)


def _show_dry_run(kind: Kind, planned: Any, how: Format) -> None:
    if how.is_whole:
        return say(*document(planned, how))
    get.show(kind, [planned], how)
    return show_plan(planned["plan"], Format.TABLE)
