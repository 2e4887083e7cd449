"""The commands `agent-configs clusters`: clusters whose collectors report their ConfigMaps."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl.agent_kinds import CLUSTER
from cpctl.commands import change_options, get, options
from cpctl.output import Format
from cpctl.session import SESSION

clusters = typer.Typer(help="Register clusters whose ConfigMaps a collector reports.", no_args_is_help=True)
ClusterName = Annotated[str, typer.Argument(metavar="CLUSTER")]


@clusters.command("list")
def list_clusters(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List registered clusters.

    \b
    cpctl agent-configs clusters list
    """
    get.list_of(CLUSTER, {}, output, headers=not no_headers)


@clusters.command("show")
def show_cluster(name: ClusterName, *, output: options.Output = Format.YAML) -> None:
    """Show all details of a cluster.

    \b
    cpctl agent-configs clusters show eu-prod
    """
    get.describe(kind=CLUSTER.name, name=name, output=output)


@clusters.command("set")
def set_cluster(
    name: ClusterName,
    *,
    principal: Annotated[
        str, typer.Option(help="Principal whose reports are accepted. Default: unchanged.")
    ] = "",
    namespace: Annotated[
        list[str] | None,
        typer.Option(help="Namespace that the cluster may report, or *. Repeatable. Default: unchanged."),
    ] = None,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Register a cluster, or change its registration.

    \b
    cpctl agent-configs clusters set eu-prod --principal cluster-eu-prod --namespace acme
    """
    current = change_options.current_object(change_options.path_of(CLUSTER, name))
    body: dict[str, Any] = {
        "principal": principal or current.get("principal", ""),
        "namespaces": namespace or current.get("namespaces", []),
    }
    change_options.put(CLUSTER, name, body, options.ChangeOptions(message, dry_run, yes), output)


@clusters.command("remove")
def remove_cluster(
    name: ClusterName,
    *,
    confirm: Annotated[
        str, typer.Option("--confirm", help="Confirmation from the refusal, if the cluster has documents.")
    ] = "",
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Remove a cluster and its documents.

    \b
    cpctl agent-configs clusters remove eu-prod
    """
    path = change_options.path_of(CLUSTER, name)
    etag = SESSION.api().get(path).etag
    change = options.ChangeOptions(message, dry_run, yes)
    change.ask(f"Remove {name} and its documents?")
    query = {**change.query(), "confirm": confirm}
    SESSION.api().send("DELETE", path, query=query, headers={"If-Match": etag})
    change.tell(f"{name} removed.")
