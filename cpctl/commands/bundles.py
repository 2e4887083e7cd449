"""The commands `agent-configs bundle` and `agent-configs planes`: data planes and their bundles."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.agent_kinds import BUNDLE, DATA_PLANE
from cpctl.commands import change_options, get, options
from cpctl.errors import UsageError
from cpctl.exits import Exit
from cpctl.output import Format, document, say, signed
from cpctl.paths import segment
from cpctl.session import SESSION

bundle = typer.Typer(help="Show and compare bundles of data planes.", no_args_is_help=True)
planes = typer.Typer(help="Manage data planes.", no_args_is_help=True)
Plane = Annotated[str, typer.Argument(metavar="PLANE", autocompletion=completion.planes)]
_SETTINGS = (
    *("dialect", "release", "enabled_plugins", "platform", "placeholders", "teams"),
    *("principal", "config_map"),
)
Revision = Annotated[int | None, typer.Argument(metavar="[REVISION]", help="Default: the active revision.")]


@bundle.command("list")
def list_bundles(
    *,
    data_plane: options.DataPlane = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List bundles.

    \b
    cpctl agent-configs bundle list --data-plane eu-1
    """
    get.list_of(BUNDLE, {"data_plane": data_plane}, output, headers=not no_headers, limit=limit)


@bundle.command("get")
def get_bundle(plane: Plane, revision: Revision = None, *, output: options.Output = Format.TABLE) -> None:
    """Print a data plane's bundle; with -o json, all details.

    \b
    cpctl agent-configs bundle get eu-1
    """
    row = SESSION.api().get(f"{BUNDLE.path}/{segment(plane)}/{_revision(plane, revision)}").json()
    say(*(document(row, output) if output.is_whole else [row["text"].rstrip("\n")]))


@bundle.command("diff")
def diff_bundles(
    plane: Plane,
    first: Annotated[int, typer.Argument(metavar="REVISION")],
    second: Annotated[
        int | None, typer.Argument(metavar="[REVISION]", help="Default: the active revision.")
    ] = None,
    *,
    output: options.Output = Format.TABLE,
) -> None:
    """Compare two revisions. Exits with 1 if they differ.

    \b
    cpctl agent-configs bundle diff eu-1 1 2
    """
    path = f"{BUNDLE.path}/{segment(plane)}/{first}/diff/{_revision(plane, second)}"
    comparison = SESSION.api().get(path).json()
    lines = [signed(line, SESSION.paint()) for line in comparison["changes"]]
    say(*(document(comparison, output) if output.is_whole else lines))
    if comparison["changes"]:
        raise typer.Exit(Exit.DIFFERS)


@planes.command("list")
def list_planes(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List data planes with their revisions.

    \b
    cpctl agent-configs planes list
    """
    get.list_of(DATA_PLANE, {}, output, headers=not no_headers)


@planes.command("show")
def show_plane(plane: Plane, *, output: options.Output = Format.YAML) -> None:
    """Show all details of a data plane.

    \b
    cpctl agent-configs planes show eu-1
    """
    get.describe(kind=DATA_PLANE.name, name=plane, output=output)


@planes.command("set")
def set_plane(
    plane: Plane,
    *,
    file: Annotated[str, typer.Option("-f", "--file", help="File with further fields, as in the API.")] = "",
    release: Annotated[str, typer.Option(help="Release of Flyte, such as 1.16.0.")] = "",
    dialect: Annotated[str, typer.Option(help="Dialect: agent, connector or connector-v2.")] = "",
    principal: Annotated[str, typer.Option(help="Principal that reads its configuration.")] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create or update a data plane. Omitted fields stay unchanged.

    \b
    cpctl agent-configs planes set eu-1 --release 1.16.0 --principal flyte-eu-1
    """
    current = change_options.current_object(change_options.path_of(DATA_PLANE, plane))
    changed = change_options.non_empty(release=release, dialect=dialect, principal=principal)
    more = change_options.object_in(file) if file else {}
    body = {**{key: current[key] for key in _SETTINGS if key in current}, **more, **changed}
    change_options.put(DATA_PLANE, plane, body, options.ChangeOptions(message, dry_run, yes), output)


@planes.command("remove")
def remove_plane(
    plane: Plane,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete a data plane and its bundles.

    \b
    cpctl agent-configs planes remove eu-1
    """
    change = options.ChangeOptions(message, dry_run, yes)
    change_options.delete(change_options.path_of(DATA_PLANE, plane), plane, change)


@planes.command("approve")
def approve_plane(
    plane: Plane,
    *,
    digest: Annotated[str, typer.Option(help="Digest of the reviewed change.")] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Approve a held change of a data plane, or with --digest that of one team.

    \b
    cpctl agent-configs planes approve eu-1
    """
    api = SESSION.api()
    plane_row: Any = api.get(f"{DATA_PLANE.path}/{segment(plane)}").json()
    if not digest and not plane_row["held_digest"]:
        teams = ", ".join(plane_row.get("held_teams", ()))
        hint = f" Changes of {teams} are held: get their digests with cpctl get parts." if teams else ""
        raise UsageError(f"No change of the whole data plane {plane} is held.{hint}")
    for line in plane_row["held_changes"] if digest in ("", plane_row["held_digest"]) else ():
        SESSION.tell(signed(line, SESSION.paint()))
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Approve this change of {plane}?")
    body = {"digest": digest or plane_row["held_digest"]}
    done = api.post(f"{DATA_PLANE.path}/{segment(plane)}:approve", body, query=change.query()).json()
    get.show(DATA_PLANE, [done], output)


def _revision(plane: str, revision: int | None) -> int:
    if revision is not None:
        return revision
    return int(SESSION.api().get(f"{DATA_PLANE.path}/{segment(plane)}").json()["active_revision"])
