"""The commands `pools`: define pools and limits, see who uses the units, and why a request waits."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.commands import change_options, get, options, pool_leases
from cpctl.output import Format, counted, document, listing, note, say
from cpctl.pool_kinds import LADDER, LIMITS, NAMESPACE_QUOTAS, POOL, USAGE, pool_fields, sentence
from cpctl.scopes import scope_text
from cpctl.session import SESSION

pools = typer.Typer(help="Manage pools and their limits, and lease units.", no_args_is_help=True)
Pool = Annotated[str, typer.Argument(metavar="POOL", help="Name of the pool.")]
Units = Annotated[int, typer.Option(min=1, help="Number of units.")]


@pools.command("list")
def list_pools(
    *,
    kind: Annotated[
        str,
        typer.Option(help="pool: units that programs lease. quota: counts of what exists. Default: both."),
    ] = "",
    search: options.Text = "",
    sort: options.Sort = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List pools and quotas with the units in use and the requests that wait.

    \b
    cpctl pools list -o wide
    cpctl pools list --kind quota
    """
    query = change_options.non_empty(kind=kind, q=search, sort=sort)
    get.list_of(POOL, query, output, headers=not no_headers, limit=limit)


@pools.command("show")
def show_pool(pool: Pool, *, output: options.Output = Format.YAML) -> None:
    """Show a pool.

    \b
    cpctl pools show snowflake
    """
    change_options.show_whole(POOL, pool, output)


@pools.command("set")
def set_pool(
    pool: Pool,
    *,
    capacity: Annotated[int | None, typer.Option(min=0, help="Units that may be in use at once.")] = None,
    file: Annotated[str, typer.Option("-f", "--file", help="Pool as `show` prints it, or -.")] = "",
    is_open: Annotated[
        bool | None, typer.Option("--open/--closed", help="A closed pool grants nothing. Leases stay.")
    ] = None,
    team: Annotated[str, typer.Option(help="Team that owns a new pool.")] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a pool, or change it.

    \b
    cpctl pools set snowflake --capacity 20
    cpctl pools set gpus -f pool.yaml
    cpctl pools set gpus --closed -m "Maintenance"
    cpctl pools set quota:sinks --capacity 50
    """
    body = pool_fields(
        change_options.object_in(file)
        if file
        else change_options.current_object(change_options.path_of(POOL, pool))
    )
    body |= change_options.non_empty(capacity=capacity, team=team)
    if is_open is not None:
        body["is_open"] = is_open
    change_options.put(POOL, pool, body, options.ChangeOptions(message, dry_run, yes), output)


@pools.command("delete")
def delete_pool(
    pool: Pool,
    *,
    force: Annotated[bool, typer.Option("--force", help="Also with leases and waiting requests.")] = False,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a pool with its limits.

    \b
    cpctl pools delete gpus --dry-run
    """
    change = options.ChangeOptions(message, dry_run, yes)
    path = change_options.path_of(POOL, pool)
    current = SESSION.api().get(path)
    change.ask(f"Delete the pool {pool}?")
    query = {**change.query(), "force": force}
    SESSION.api().send("DELETE", path, query=query, headers={"If-Match": current.etag})
    item = current.json()
    if dry_run and not force and (item["used"] or item["waiting"]):
        use = f"{counted(item['used'], 'unit')} in use and {counted(item['waiting'], 'waiting request')}"
        note(f"{pool} has {use}. To delete the pool, add --force.")
    change.tell(f"{pool} deleted.")


@pools.command("usage")
def usage(
    pool: Pool,
    *,
    by: Annotated[str, typer.Option(help="Level of the scopes, such as project.")] = "project",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """List the scopes that use units, those that use most first.

    \b
    cpctl pools usage snowflake --by project_domain
    """
    rows = list(SESSION.api().items(f"{change_options.path_of(POOL, pool)}/usage", {"by": by}))
    say(*listing(USAGE, rows, how=output, name_of=_scope_of, headers=not no_headers))


@pools.command("limits")
def limits(
    pool: Pool, *, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False
) -> None:
    """List the caps, guarantees and weights of scopes.

    \b
    cpctl pools limits snowflake
    """
    rows = list(SESSION.api().items(f"{change_options.path_of(POOL, pool)}/limits"))
    say(*listing(LIMITS, rows, how=output, name_of=_scope_of, headers=not no_headers))


@pools.command("set-limit")
def set_limit(
    pool: Pool,
    *,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    cap: Annotated[int | None, typer.Option(min=0, help="Units that the scope may use.")] = None,
    guaranteed: Annotated[int, typer.Option(min=0, help="Units that are kept for the scope.")] = 0,
    weight: Annotated[
        int | None, typer.Option(min=1, max=1000, help="Share of the units. Default: inherited.")
    ] = None,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Set what a pool promises to a scope.

    \b
    cpctl pools set-limit snowflake -p flytesnacks --cap 10 --weight 300
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Set the limit of {pool} at {scope_text(scope)}?")
    body = {"cap": cap, "guaranteed": guaranteed, "weight": weight}
    limit = _change_limit("PUT", pool, scope, change, body).json()
    say(*listing(LIMITS, [limit], how=output, name_of=_scope_of))


@pools.command("remove-limit")
def remove_limit(
    pool: Pool,
    *,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Remove the limit of a scope, so that wider scopes decide.

    \b
    cpctl pools remove-limit snowflake -p flytesnacks
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Remove the limit of {pool} at {scope_text(scope)}?")
    _change_limit("DELETE", pool, scope, change)
    change.tell(f"{pool} has no limit of its own at {scope_text(scope)} any more.")


@pools.command("explain")
def explain(
    pool: Pool,
    *,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    units: Units = 1,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
) -> None:
    """Show which limits apply to a request at a scope, and who uses the units.

    \b
    cpctl pools explain snowflake -p flytesnacks -d development
    """
    scope = options.scope_of((project, domain, workflow, launch_plan))
    path = f"{change_options.path_of(POOL, pool)}:explain"
    answer = SESSION.api().post(path, {"scope": scope, "units": units}).json()
    if output.is_whole:
        return say(*document(answer, output))
    verdict = "There is room." if answer["would_be_granted"] else "There is no room."
    say(" ".join([verdict, *map(sentence, answer["obstacles"])]), "")
    say(*listing(LADDER, answer["ladder"], how=output, name_of=_scope_of, headers=not no_headers))
    if answer["namespace_quotas"]:
        say("", *listing(NAMESPACE_QUOTAS, answer["namespace_quotas"], how=output, name_of=_scope_of))
    if answer["holders"]:
        say("", *listing(USAGE, answer["holders"], how=output, name_of=_scope_of, headers=not no_headers))
    return None


def _change_limit(
    method: str, pool: str, scope: dict[str, str], change: options.ChangeOptions, body: Any = None
) -> Any:
    path = change_options.path_of(POOL, pool)
    headers = {"If-Match": SESSION.api().get(path).etag}
    query = {**scope, **change.query()}
    return SESSION.api().send(method, f"{path}/limits", body, query=query, headers=headers)


def _scope_of(row: Any) -> str:
    return scope_text(row["scope"])


pools.command("leases")(pool_leases.leases)
pools.command("acquire")(pool_leases.acquire)
pools.command("release")(pool_leases.release)
pools.command("revoke")(pool_leases.revoke)
