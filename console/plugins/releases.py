"""The list of releases, and the page of one with its differences, nodes and actions."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl, of_team
from console.pages import load_page, page
from controlplane.database.clock import database_now
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.api.plugins.release_schemas import show_release
from registry.plugin_releases.listing import get_release, visible_releases
from registry.plugin_releases.models import PluginRelease, ReleaseState


@page
def releases(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.PLUGIN_READ)
    results = load_page(request, caller, visible_releases(caller), order=("-id",))
    context = {
        "results": results,
        "now": database_now(),
        "may_release": bool(caller.owners_for(Action.PLUGIN_RELEASE)),
        "copies": {
            "curl": curl(request, "GET", "plugin-releases"),
            "cpctl": cpctl("plugins", "releases", "list"),
        },
    }
    return render(request, "console/plugins/releases.html", context)


@page
def release(request: HttpRequest, caller: Caller, release_id: UUID) -> HttpResponse:
    row = get_release(caller, release_id)
    shown = show_release(row)
    may_release = caller.verdict(Action.PLUGIN_RELEASE, owner=row.plugin_set.team_id).allowed
    context = {
        "release": row,
        "shown": shown,
        "problems": [plugin for plugin in shown["plugins"] if plugin["problem"]],
        "now": database_now(),
        "actions": actions_of(row) if may_release else (),
        "copies": {
            "curl": curl(request, "GET", f"plugin-releases/{row.id}"),
            "cpctl": cpctl("plugins", "releases", "show", str(row.number), *of_team(shown["team"])),
        },
    }
    return render(request, "console/plugins/release.html", context)


def actions_of(release: PluginRelease) -> tuple[tuple[str, str], ...]:
    """Return route and label of what can be done with a release in its state."""
    if release.state == ReleaseState.READY:
        return (("plugin-release-activate", "Activate now"), ("plugin-release-cancel", "Cancel release"))
    if release.state == ReleaseState.RESOLVING:
        return (("plugin-release-cancel", "Cancel release"),)
    if release.state == ReleaseState.SUPERSEDED and release.activated_at is not None:
        return (("plugin-release-rollback", "Roll back"),)
    return ()
