"""The commands `pools leases|acquire|release|revoke`."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Sequence
from datetime import datetime
from typing import Annotated, Any

import typer

from cpctl.commands import change_options, options
from cpctl.errors import ApiError, Failed, TimedOut, UsageError
from cpctl.output import Format, document, listing, say
from cpctl.pool_kinds import LEASES, POOL, sentence
from cpctl.session import SESSION

Pool = Annotated[str, typer.Argument(metavar="POOL", help="Name of the pool.")]
Lease = Annotated[str, typer.Argument(metavar="LEASE", help="Id of the lease.")]
Token = Annotated[str, typer.Option(help="Names your work at the scope; the same token gets the same lease.")]
_MOST_WAIT = 20
_WATCH_SECONDS = 2.0
# Until a command that lost its lease is killed.
_PATIENCE_SECONDS = 10.0


def leases(
    pool: Pool,
    *,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    state: Annotated[str, typer.Option(help="waiting, granted, released, expired, revoked, cancelled.")] = "",
    oldest: Annotated[bool, typer.Option("--oldest", help="List the oldest first.")] = False,
    limit: options.Limit = 50,
    watch: Annotated[
        bool, typer.Option("-w", "--watch", help="Print the list again every 2 seconds.")
    ] = False,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List leases and the requests that wait.

    \b
    cpctl pools leases snowflake --state waiting
    cpctl pools leases snowflake --state granted --oldest
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    query = {**scope, "state": state, "order": "oldest" if oldest else ""}
    path = f"{change_options.path_of(POOL, pool)}/leases"
    while True:
        items = list(SESSION.api().items(path, query, most=limit))
        say(*listing(LEASES, items, how=output, name_of=lambda item: str(item["id"]), headers=not no_headers))
        if not watch:
            return
        time.sleep(_WATCH_SECONDS)


def acquire(
    pool: Pool,
    command: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[-- COMMAND...]", help="Run it with the lease, and release the lease after it."
        ),
    ] = None,
    *,
    token: Token,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    units: Annotated[int, typer.Option(min=1, help="Number of units.")] = 1,
    lease_seconds: Annotated[
        int | None, typer.Option(min=0, help="For how long, unless renewed. Default: the pool's.")
    ] = None,
    wait: Annotated[int, typer.Option(min=0, help="How long to wait in the queue, in seconds.")] = 0,
    priority: Annotated[int, typer.Option(min=0, max=100, help="Within the queue of the scope.")] = 0,
    dry_run: options.DryRun = False,
    output: options.Output = Format.YAML,
) -> None:
    """Lease units of a pool, and run a command with them, as flock does.

    \b
    cpctl pools acquire snowflake --token report --wait 30 -- ./report.sh
    cpctl pools acquire snowflake --token report -p flytesnacks -d development
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    body = {"token": token, "scope": scope, "units": units, "priority": priority}
    body |= change_options.non_empty(lease_seconds=lease_seconds)
    path = f"{change_options.path_of(POOL, pool)}/leases"
    lease = _granted(path, body, wait, dry_run=dry_run)
    if command and not dry_run:
        raise typer.Exit(_run(command, path, lease))
    say(*document(lease, output if output.is_whole else Format.YAML))


def release(
    pool: Pool,
    lease: Annotated[str, typer.Argument(metavar="[LEASE]", help="Id of the lease.")] = "",
    *,
    token: Annotated[str, typer.Option(help="Instead of the id: the token and its scope.")] = "",
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    dry_run: options.DryRun = False,
) -> None:
    """Release a lease, or take a request out of the queue. Idempotent.

    \b
    cpctl pools release snowflake --token report
    """
    if bool(lease) == bool(token):
        raise UsageError("Give either the id of a lease or --token.")
    change, path = options.ChangeOptions("", dry_run, yes=True), change_options.path_of(POOL, pool)
    query = {"dry_run": dry_run}
    if lease:
        SESSION.api().send("DELETE", f"{path}/leases/{lease}", query=query)
    else:
        scope = options.scope_of((project, domain, workflow, launch_plan))
        SESSION.api().post(f"{path}/leases:release", {"token": token, "scope": scope}, query=query)
    change.tell(f"{lease or token} is released.")


def revoke(
    pool: Pool,
    lease: Lease,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """End a lease whatever its holder does, so that the next request gets its units.

    \b
    cpctl pools revoke snowflake 019a9f5e-7c00-7000-8000-000000000031 -m "Its machine is gone"
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Revoke the lease {lease} of {pool}? Its holder may still use the resource.")
    path = f"{change_options.path_of(POOL, pool)}/leases/{lease}:revoke"
    revoked = SESSION.api().post(path, query=change.query()).json()
    change.tell(f"The lease of {revoked['token']} is revoked.")


def _granted(path: str, body: dict[str, Any], wait: int, *, dry_run: bool) -> dict[str, Any]:
    """Return the lease once it is granted. Raises ApiError, TimedOut."""
    until = time.monotonic() + wait
    # A full pool is an answer, not a reason to try again.
    api = SESSION.api(tries=bool(wait))
    while True:
        seconds = max(0, min(_MOST_WAIT, round(until - time.monotonic())))
        asked = {**body, "wait_seconds": seconds, "queue": bool(wait)}
        lease = api.send(
            "POST", path, asked, query={"dry_run": dry_run}, timeout=seconds + 10, headers={}
        ).json()
        if lease["state"] == "granted" or dry_run:
            return dict(lease)
        if time.monotonic() >= until:
            api.send("DELETE", f"{path}/{lease['id']}")
            reasons = " ".join(map(sentence, lease["limited_by"]))
            raise TimedOut(f"No units within {wait} s. {reasons}", hint="cpctl pools explain POOL")
        SESSION.tell(f"Waiting at place {lease['position']} of the queue.")


def _run(command: Sequence[str], path: str, lease: dict[str, Any]) -> int:
    """Run the command while the lease is renewed; return its exit code. Raises Failed if it is lost."""
    SESSION.tell(f"{lease['token']} has {lease['units']} of {lease['pool']}, with epoch {lease['epoch']}.")
    try:
        child = subprocess.Popen(command)
    except OSError as error:
        _release(path, lease)
        raise UsageError(f"Cannot run {command[0]}: {error.strerror}.") from error
    try:
        while True:
            try:
                return child.wait(timeout=_until_renewal(lease))
            except subprocess.TimeoutExpired:
                lease = _renewed(path, lease)
    except ApiError as error:
        _stop(child)
        raise Failed(f"The lease was lost, and the command was stopped. {error.message}") from error
    except KeyboardInterrupt:
        _stop(child)
        raise
    finally:
        _release(path, lease)


def _until_renewal(lease: dict[str, Any]) -> float | None:
    """Return the seconds until a third of the lease is over; None if it does not expire."""
    if not lease["expires_at"] or not lease["lease_seconds"]:
        return None
    left = datetime.fromisoformat(lease["expires_at"]) - datetime.fromisoformat(lease["granted_at"])
    return max(1.0, min(left.total_seconds(), float(lease["lease_seconds"])) / 3)


def _renewed(path: str, lease: dict[str, Any]) -> dict[str, Any]:
    answer = SESSION.api().post(f"{path}/{lease['id']}:renew", {"epoch": lease["epoch"]})
    return {**lease, "expires_at": answer.json()["expires_at"]}


def _release(path: str, lease: dict[str, Any]) -> None:
    SESSION.api().send("DELETE", f"{path}/{lease['id']}", query={"epoch": lease["epoch"]})


def _stop(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(timeout=_PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
