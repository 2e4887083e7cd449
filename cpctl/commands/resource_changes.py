"""The commands `resources delete|cancel|retry`: each for one resource, or for several."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpctl.commands import change_options, get, options, resource_options
from cpctl.dispatch_kinds import RESOURCE
from cpctl.errors import CpctlError, UsageError
from cpctl.output import Format, counted, note
from cpctl.resource_waits import Condition, wait_for
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Api

_MOST_NAMED = 20
Wait = Annotated[bool, typer.Option("--wait", help="Wait for the outcome.")]


def delete(
    resources: resource_options.Ids = None,
    *,
    state: resource_options.States = None,
    service_type: resource_options.ServiceType = "",
    agent: resource_options.Agent = "",
    team: options.Team = "",
    project: options.Project = "",
    domain: options.Domain = "",
    selector: options.Selector = "",
    force: Annotated[
        bool,
        typer.Option("--force", help="Mark it as deleted without an answer of its agent. Requires a reason."),
    ] = False,
    wait: Wait = False,
    timeout: options.Timeout = 300.0,
    reason: resource_options.Reason = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Delete resources: by id, or all that filters select.

    \b
    cpctl resources delete my-vm --reason "No longer needed"
    cpctl resources delete --state failed -l tier=dev --dry-run
    """
    if force and not reason and not dry_run:
        raise UsageError("--force requires a reason.", hint='add --reason "why"')
    api = SESSION.api()
    filters = resource_options.query(
        state,
        service_type=service_type,
        agent=agent,
        team=team,
        project=project,
        domain=domain,
        selector=selector,
    )
    ids = _selected(api, resources or [], filters)
    if not ids:
        return SESSION.tell("No resources found.")

    def send(resource_id: str, change: options.ChangeOptions) -> Any:
        path = change_options.path_of(RESOURCE, resource_id)
        answer = api.send("DELETE", path, query={**change.query(), "force": force})
        return answer.json() if answer.body else api.get(path).json()

    change = options.ChangeOptions(reason, dry_run, yes)
    how = "by force, without an answer of its agent" if force else ""
    _change_all(send, ids, change, output, question=f"Delete {_named(ids)} {how}".rstrip() + "?")
    return _wait_for_all(api, ids, time.monotonic() + timeout, "deleted") if wait and not dry_run else None


def cancel(
    resources: resource_options.Ids = None,
    *,
    wait: Wait = False,
    timeout: options.Timeout = 300.0,
    reason: resource_options.Reason = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Cancel requests that do not run yet. They can be retried.

    \b
    cpctl resources cancel my-new-vm --reason "Wrong size"
    """
    change = options.ChangeOptions(reason, dry_run, yes)
    _verb("cancel", resources or [], change, output, time.monotonic() + timeout if wait else None)


def retry(
    resources: resource_options.Ids = None,
    *,
    force: Annotated[
        bool, typer.Option("--force", help="Give up deletions that failed, instead of sending them again.")
    ] = False,
    wait: Wait = False,
    timeout: options.Timeout = 300.0,
    reason: resource_options.Reason = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Retry what failed, was cancelled, or could not be deleted.

    \b
    cpctl resources retry my-failed-vm --reason "The quota was raised"
    """
    change = options.ChangeOptions(reason, dry_run, yes)
    until = time.monotonic() + timeout if wait else None
    _verb("retry", resources or [], change, output, until, force=force)


def raise_all(failures: Sequence[CpctlError]) -> None:
    """Report all failures, and raise the last, which sets the exit code."""
    for failure in failures[:-1]:
        for line in failure.lines():
            note(f"error: {line}")
    if failures:
        raise failures[-1]


def _verb(
    verb: str,
    ids: Sequence[str],
    change: options.ChangeOptions,
    how: Format,
    until: float | None,
    **query: bool,
) -> None:
    if not ids:
        raise UsageError("Name at least one resource.", hint="cpctl resources list")
    api = SESSION.api()

    def send(resource_id: str, change: options.ChangeOptions) -> Any:
        path = f"{change_options.path_of(RESOURCE, resource_id)}:{verb}"
        return api.post(path, query={**change.query(), **query}).json()

    changed = _change_all(send, ids, change, how, question=f"{verb.capitalize()} {_named(ids)}?")
    if until is not None and not change.dry_run:
        awaited = "cancelled" if verb == "cancel" else ""
        goals = {str(item["id"]): awaited or _outcome(item) for item in changed}
        for resource_id, state in goals.items():
            _wait_for_all(api, [resource_id], until, state)


def _outcome(resource: Any) -> str:
    """The state that a retry leads to."""
    return "deleted" if resource["goal"] == "deleted" else "running"


def _change_all(
    send: Callable[[str, options.ChangeOptions], Any],
    ids: Sequence[str],
    change: options.ChangeOptions,
    how: Format,
    *,
    question: str,
) -> list[Any]:
    """Change each resource, print all that were changed, then report the failures."""
    change.ask(question)
    changed: list[Any] = []
    failures: list[CpctlError] = []
    for resource_id in ids:
        try:
            changed.append(send(resource_id, change))
        except CpctlError as error:
            failures.append(error)
    if changed:
        get.show(RESOURCE, changed, how)
    raise_all(failures)
    return changed


def _wait_for_all(api: Api, ids: Sequence[str], until: float, state: str) -> None:
    failures: list[CpctlError] = []
    for resource_id in ids:
        try:
            wait_for(api, resource_id, Condition("state", state), until)
        except CpctlError as error:
            failures.append(error)
        else:
            SESSION.tell(f"{resource_id}: {state}")
    raise_all(failures)


def _selected(api: Api, ids: Sequence[str], filters: dict[str, Any]) -> list[str]:
    """Return the ids, or those of all resources that the filters select. Raises UsageError."""
    if ids and any(filters.values()):
        raise UsageError("Use either ids or filters.")
    if ids:
        return list(dict.fromkeys(ids))
    if not any(filters.values()):
        raise UsageError("Name resources, or filter them.", hint="cpctl resources list")
    return [str(item["id"]) for item in api.items(RESOURCE.path, filters)]


def _named(ids: Sequence[str]) -> str:
    if len(ids) == 1:
        return ids[0]
    names = ", ".join(ids[:_MOST_NAMED])
    more = f" and {len(ids) - _MOST_NAMED} more" if len(ids) > _MOST_NAMED else ""
    return f"{counted(len(ids), 'resource')} ({names}{more})"
