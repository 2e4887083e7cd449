"""`agent-configs bundle` and `agent-configs planes`: what data planes are given, and who they are."""

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

bundle = typer.Typer(help="Bundles: revisions of what a data plane is given.", no_args_is_help=True)
planes = typer.Typer(help="Data planes.", no_args_is_help=True)
Plane = Annotated[str, typer.Argument(metavar="PLANE", autocompletion=completion.planes)]
_SETTINGS = (
    *("dialect", "release", "enabled_plugins", "platform", "placeholders", "teams"),
    *("principal", "config_map"),
)
Revision = Annotated[int | None, typer.Argument(metavar="[REVISION]", help="None: the one in force.")]


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
    """Print what a data plane is given; with -o json all that is known of it.

    \b
    cpctl agent-configs bundle get eu-1
    """
    found = SESSION.api().get(f"{BUNDLE.path}/{segment(plane)}/{_revision(plane, revision)}").json()
    say(*(document(found, output) if output.is_whole else [found["text"].rstrip("\n")]))


@bundle.command("diff")
def diff_bundles(
    plane: Plane,
    first: Annotated[int, typer.Argument(metavar="REVISION")],
    second: Annotated[
        int | None, typer.Argument(metavar="[REVISION]", help="None: the one in force.")
    ] = None,
    *,
    output: options.Output = Format.TABLE,
) -> None:
    """Compare two revisions. Exits 1 if they differ.

    \b
    cpctl agent-configs bundle diff eu-1 1 2
    """
    path = f"{BUNDLE.path}/{segment(plane)}/{first}/diff/{_revision(plane, second)}"
    found = SESSION.api().get(path).json()
    lines = [signed(line, SESSION.paint()) for line in found["changes"]]
    say(*(document(found, output) if output.is_whole else lines))
    if found["changes"]:
        raise typer.Exit(Exit.DIFFERS)


@planes.command("list")
def list_planes(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List data planes, and which revision each has.

    \b
    cpctl agent-configs planes list
    """
    get.list_of(DATA_PLANE, {}, output, headers=not no_headers)


@planes.command("show")
def show_plane(plane: Plane, *, output: options.Output = Format.YAML) -> None:
    """Show everything about one data plane.

    \b
    cpctl agent-configs planes show eu-1
    """
    get.describe(kind=DATA_PLANE.name, name=plane, output=output)


@planes.command("set")
def set_plane(
    plane: Plane,
    *,
    file: Annotated[str, typer.Option("-f", "--file", help="The rest, as the API has it.")] = "",
    release: Annotated[str, typer.Option(help="Flyte's, such as 1.16.0.")] = "",
    dialect: Annotated[str, typer.Option(help="agent, connector or connector-v2.")] = "",
    principal: Annotated[str, typer.Option(help="Who reads its configuration.")] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Register a data plane, or change what is said of it. What is not said stays.

    \b
    cpctl agent-configs planes set eu-1 --release 1.16.0 --principal flyte-eu-1
    """
    stands = change_options.standing(change_options.place_of(DATA_PLANE, plane))
    told = change_options.said(release=release, dialect=dialect, principal=principal)
    more = change_options.object_in(file) if file else {}
    body = {**{key: stands[key] for key in _SETTINGS if key in stands}, **more, **told}
    change_options.put(DATA_PLANE, plane, body, options.Decision(message, dry_run, yes), output)


@planes.command("remove")
def remove_plane(
    plane: Plane,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Forget a data plane, with its bundles.

    \b
    cpctl agent-configs planes remove eu-1
    """
    terms = options.Decision(message, dry_run, yes)
    change_options.delete(change_options.place_of(DATA_PLANE, plane), plane, terms)


@planes.command("approve")
def approve_plane(
    plane: Plane,
    *,
    digest: Annotated[str, typer.Option(help="Of the change that you looked at.")] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Approve a change that is held: of the whole data plane, or with --digest of one team.

    \b
    cpctl agent-configs planes approve eu-1
    """
    api = SESSION.api()
    held: Any = api.get(f"{DATA_PLANE.path}/{segment(plane)}").json()
    if not digest and not held["held_digest"]:
        teams = ", ".join(held.get("held_teams", ()))
        hint = f" Changes of {teams} are: cpctl get parts has their digests." if teams else ""
        raise UsageError(f"Nothing of the whole data plane {plane} is held.{hint}")
    for line in held["held_changes"] if digest in ("", held["held_digest"]) else ():
        SESSION.tell(signed(line, SESSION.paint()))
    terms = options.Decision(message, dry_run, yes)
    terms.ask(f"Let this through to {plane}?")
    body = {"digest": digest or held["held_digest"]}
    done = api.post(f"{DATA_PLANE.path}/{segment(plane)}:approve", body, query=terms.query()).json()
    get.show(DATA_PLANE, [done], output)


def _revision(plane: str, said: int | None) -> int:
    if said is not None:
        return said
    return int(SESSION.api().get(f"{DATA_PLANE.path}/{segment(plane)}").json()["active_revision"])
