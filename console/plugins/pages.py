"""The list of plugins, and the page of one plugin."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from console.cpctl_commands import cpctl, curl, of_team
from console.listing import Column, read_listing
from console.pages import load_page, page
from controlplane.database.clock import database_now
from controlplane.formats import strict_yaml
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.api.plugins.plugin_schemas import show_plugins
from registry.jobs.plugin_use import jobs_of
from registry.plugin_releases.activation import live_nodes
from registry.plugin_releases.listing import active_plugins, get_plugin, visible_releases
from registry.plugin_releases.models import ReleaseState
from registry.plugin_releases.plugin_sets import find_team

_WAITING = (ReleaseState.RESOLVING, ReleaseState.READY)
_MOST_JOBS = 20
_COLUMNS = (
    Column("name", "Name", order=("name", "id"), is_optional=False),
    Column("state", "State", "medium"),
    Column("version", "Version", "narrow"),
    Column("provider", "Provider"),
    Column("nodes", "Nodes", "tiny", is_number=True),
    Column("jobs", "Jobs", "tiny", is_number=True),
    Column("release", "Release", "tiny", is_number=True),
    Column("team", "Team", "narrow"),
)


@page
def plugins(request: HttpRequest, caller: Caller) -> HttpResponse:
    caller.require_for_some_owner(Action.PLUGIN_READ)
    listing = read_listing(request, "plugins", "Plugins", _COLUMNS, sort="name")
    results = load_page(request, caller, active_plugins(caller), order=listing.order)
    context = {
        "listing": listing,
        "results": results,
        "plugins": show_plugins(results.items, caller),
        "waiting": visible_releases(caller).filter(state__in=_WAITING).order_by("-id")[:5],
        "live": len(live_nodes()),
        "may_write": bool(caller.owners_for(Action.PLUGIN_WRITE)),
        "copies": {
            "curl": curl(request, "GET", "plugins"),
            "cpctl": cpctl("plugins", "list", "--mode", "server"),
        },
    }
    return render(request, "console/plugins/plugins.html", context)


@page
def plugin(request: HttpRequest, caller: Caller, name: str) -> HttpResponse:
    slug = request.GET.get("team", "")
    team = find_team(caller, slug, Action.PLUGIN_READ)
    row = get_plugin(caller, team, name)
    (shown,) = show_plugins([row], caller)
    jobs = jobs_of(caller, name)
    context = {
        "plugin": shown,
        "release": row.release,
        "variables": strict_yaml.dump(shown["config"]) if shown["config"] else "",
        "artifact": row.artifact or row.fallback,
        "jobs": jobs[:_MOST_JOBS],
        "job_count": jobs.count(),
        "now": database_now(),
        "copies": {
            "curl": curl(request, "GET", f"plugins/{name}{'?team=' if slug else ''}{slug}"),
            "cpctl": cpctl("plugins", "show", name, *of_team(slug)),
        },
    }
    return render(request, "console/plugins/plugin.html", context)
