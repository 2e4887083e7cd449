"""The page of nodes by releases: which node has which release, and with which versions of its plugins."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Q
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl
from console.pages import load_page, page
from controlplane.database.clock import database_now
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.plugin_releases.activation import live_nodes
from registry.plugin_releases.listing import visible_releases
from registry.plugin_releases.models import PluginInstallation, PluginNode, PluginRelease, ReleaseState

# More columns cannot be compared at a glance.
_MOST_RELEASES = 8
_IN_USE = (ReleaseState.ACTIVE, ReleaseState.READY, ReleaseState.RESOLVING)


@dataclass(frozen=True, slots=True)
class Installed:
    """What a node has of a release. is_behind: its lock is newer. plugins: name, version and state."""

    state: str
    message: str
    is_behind: bool
    reported_at: datetime
    plugins: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True, slots=True)
class NodeRow:
    """A node, and what it has of each release of the page; None for nothing."""

    name: str
    is_live: bool
    server_version: str
    cells: tuple[Installed | None, ...]


@dataclass(frozen=True, slots=True)
class ReleaseColumn:
    """A release, and on how many of the live nodes of the page it is."""

    release: PluginRelease
    live_count: int


@page
def node_matrix(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.PLUGIN_READ)
    releases = _releases(caller)
    nodes = load_page(request, caller, PluginNode.objects.all(), order=("name",))
    installed = _installed(nodes.items, releases)
    live = frozenset(live_nodes())
    rows = [_row(node, releases, installed, is_live=node.name in live) for node in nodes.items]
    context = {
        "results": nodes,
        "columns": (columns := _columns(releases, rows)),
        "rows": [(row, list(zip(columns, row.cells, strict=True))) for row in rows],
        "now": database_now(),
        "copies": {
            "curl": curl(request, "GET", "plugin-nodes"),
            "cpctl": cpctl("plugins", "nodes"),
        },
    }
    return render(request, "console/plugins/node_matrix.html", context)


def _releases(caller: Caller) -> list[PluginRelease]:
    """Return the newest releases that are in use, are about to be, or are on a node."""
    on_a_node = Exists(PluginInstallation.objects.filter(release=OuterRef("pk")))
    rows = visible_releases(caller).filter(Q(state__in=_IN_USE) | Q(on_a_node))
    return list(rows.order_by("-id")[:_MOST_RELEASES])


def _installed(
    nodes: Iterable[PluginNode], releases: Sequence[PluginRelease]
) -> dict[tuple[str, UUID], Installed]:
    rows = PluginInstallation.objects.filter(node__in=[node.name for node in nodes], release__in=releases)
    locks = {release.id: release.lock_revision for release in releases}
    return {
        (row.node_id, row.release_id): Installed(
            row.state,
            row.message,
            row.lock_revision < locks[row.release_id],
            row.reported_at,
            _plugins(row.plugins),
        )
        for row in rows
    }


def _plugins(reported: Mapping[str, Any]) -> tuple[tuple[str, str, str], ...]:
    return tuple(
        (name, str(plugin.get("version") or ""), str(plugin.get("state") or ""))
        for name, plugin in sorted(reported.items())
    )


def _row(
    node: PluginNode,
    releases: Sequence[PluginRelease],
    installed: Mapping[tuple[str, UUID], Installed],
    *,
    is_live: bool,
) -> NodeRow:
    cells = tuple(installed.get((node.name, release.id)) for release in releases)
    return NodeRow(node.name, is_live, node.server_version, cells)


def _columns(releases: Sequence[PluginRelease], rows: Sequence[NodeRow]) -> list[ReleaseColumn]:
    return [
        ReleaseColumn(release, sum(row.is_live and row.cells[number] is not None for row in rows))
        for number, release in enumerate(releases)
    ]
