"""Changes of guard rails and resource types: shown as a plan, asked about, sent."""

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
    kind: Kind, body: Any, terms: options.Decision, how: Format, *, confirm: str, question: str
) -> None:
    """Create what has a plan."""

    def send(query: Mapping[str, Any]) -> Any:
        asked = {**terms.query(), "confirm": confirm, **query}
        return SESSION.api().post(kind.path, body, query=asked).json()

    _send_planned(send, kind, terms, how, question)


def put(
    kind: Kind, name: str, body: Mapping[str, Any], terms: options.Decision, how: Format, **more: Any
) -> None:
    """Put it over what stands now, or where nothing stands."""
    path = change_options.place_of(kind, name)
    headers = change_options.over_what_stands(path)

    def send(query: Mapping[str, Any]) -> Any:
        asked = {**terms.query(), **more, **query}
        return SESSION.api().send("PUT", path, body, query=asked, headers=headers).json()

    question = f"Set {name}?" if "If-Match" in headers else f"Create {name}?"
    _send_planned(send, kind, terms, how, question)


def delete(path: str, name: str, terms: options.Decision, confirm: str) -> None:
    """Delete what was seen, and not what somebody put there meanwhile."""
    api = SESSION.api()
    headers = {"If-Match": api.get(path).etag}
    plan = api.send("DELETE", path, query={**terms.query(), "dry_run": True}, headers=headers).json()
    show_plan(plan, Format.TABLE)
    if terms.dry_run:
        return
    terms.ask(f"Delete {name}?")
    agreed = {"confirm": confirm if terms.yes else confirmation(plan)}
    api.send("DELETE", path, query={**terms.query(), **agreed}, headers=headers)
    terms.tell(f"{name} is deleted.")


def _send_planned(send: Send, kind: Kind, terms: options.Decision, how: Format, question: str) -> None:
    """Send a dry run, show its plan and ask, then send it. send: takes what is added to the query."""
    planned = send({"dry_run": True})
    if terms.dry_run:
        return _show_dry_run(kind, planned, how)
    if not how.is_whole:
        show_plan(planned["plan"], Format.TABLE)
    terms.ask(question)
    done = send({} if terms.yes else {"confirm": confirmation(planned["plan"])})
    return get.show(kind, [done], how)


def _show_dry_run(kind: Kind, planned: Any, how: Format) -> None:
    if how.is_whole:
        return say(*document(planned, how))
    get.show(kind, [planned], how)
    return show_plan(planned["plan"], Format.TABLE)
