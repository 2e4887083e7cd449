"""The plugin configuration of a team or the platform: shown, edited, and validated."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import urlencode

from console.cpctl_commands import cpctl, curl, of_team
from console.forms import form_version, read_form
from console.pages import actor_of, page
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.database.clock import database_now
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.formats import strict_yaml
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.preconditions import Precondition
from registry.plugin_releases.config_changes import latest_config, write_config
from registry.plugin_releases.models import PluginConfig, PluginSource
from registry.plugin_releases.plugin_sets import find_set, find_team
from registry.plugins.documents.configuration import read_configuration

_MOST_VERSIONS = 10
_BEGINNING = """plugins:
  providers:
    - type: url
      name: internal
      url: https://plugins.example.com
  plugins: []
"""


@page
def configuration(request: HttpRequest, caller: Caller) -> HttpResponse:
    slug = request.GET.get("team", "")
    team = find_team(caller, slug, Action.PLUGIN_READ)
    plugin_set = find_set(caller, slug)
    config = latest_config(plugin_set) if plugin_set else None
    owner = team.id if team else None
    context = {
        "team": team,
        "config": config,
        "text": strict_yaml.dump(config.document) if config else "",
        "is_folder": bool(plugin_set and plugin_set.source == PluginSource.FOLDER),
        "versions": plugin_set.configs.order_by("-version")[:_MOST_VERSIONS] if plugin_set else (),
        "secrets": plugin_set.secrets.order_by("name") if plugin_set else (),
        "now": database_now(),
        "may_write": caller.verdict(Action.PLUGIN_WRITE, owner=owner).allowed,
        "may_release": caller.verdict(Action.PLUGIN_RELEASE, owner=owner).allowed,
        "query": f"?{urlencode({'team': slug})}" if slug else "",
        "copies": {
            "curl": curl(request, "GET", f"plugin-config{'?team=' if slug else ''}{slug}"),
            "cpctl": cpctl("plugins", "config", "show", *of_team(slug)),
        },
    }
    return render(request, "console/plugins/configuration.html", context)


@page
def edit(request: HttpRequest, caller: Caller) -> HttpResponse:
    slug = request.GET.get("team", "")
    team = find_team(caller, slug, Action.PLUGIN_WRITE)
    plugin_set = find_set(caller, slug)
    config = latest_config(plugin_set) if plugin_set else None
    context = _form(config, slug, request)
    if request.method != "POST":
        return render(request, "console/plugins/edit.html", context)
    context |= {"text": request.POST.get("text", ""), "reason": request.POST.get("reason", "")}
    try:
        form = read_form(request)
        version = form_version(form)
        written = write_config(
            team,
            read_configuration(form.get("text", "")),
            precondition=Precondition(frozenset({version})) if version else Precondition(must_be_new=True),
            actor=actor_of(caller, form.get("reason", "")),
        )
    except PermissionDenied:
        raise
    except ControlplaneError as error:
        status = STATUS_BY_ERROR[type(error)]
        return render(request, "console/plugins/edit.html", {**context, "problem": error}, status=status)
    messages.success(request, f"Saved version {written.config.version}. Release it to have it installed.")
    return redirect(reverse("plugin-config") + (f"?{urlencode({'team': slug})}" if slug else ""))


def _form(config: PluginConfig | None, slug: str, request: HttpRequest) -> dict[str, Any]:
    return {
        "text": strict_yaml.dump(config.document) if config else _BEGINNING,
        "version": config.version if config else 0,
        "reason": "",
        "slug": slug,
        "query": f"?{urlencode({'team': slug})}" if slug else "",
        "copies": {
            "cpctl": cpctl("plugins", "install", "-c", "plugins.yaml", "--mode", "server", *of_team(slug))
        },
    }
