"""Create, activate, cancel and roll back releases."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from console.confirmations import Change, Field, confirm_change
from console.cpctl_commands import cpctl, curl, of_team
from console.pages import actor_of, page
from controlplane.errors import UnknownPluginConfig
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.plugin_releases import release_changes
from registry.plugin_releases.config_changes import latest_config
from registry.plugin_releases.listing import get_release
from registry.plugin_releases.models import PluginRelease
from registry.plugin_releases.plugin_sets import find_set, find_team
from registry.plugin_releases.release_changes import (
    ReleaseTerms,
    configuration_of,
    earlier_plugins,
)
from registry.plugin_releases.release_plans import PluginChange, plan_release

_REASON = Field("reason", "Reason", hint="Kept in the audit log.")


@page
def create(request: HttpRequest, caller: Caller) -> HttpResponse:
    slug = request.GET.get("team", "")
    team = find_team(caller, slug, Action.PLUGIN_RELEASE)
    plugin_set = find_set(caller, slug)
    config = latest_config(plugin_set) if plugin_set else None
    if plugin_set is None or config is None:
        raise UnknownPluginConfig("There is no configuration to release. Write it first.")
    earlier = earlier_plugins(plugin_set)
    plan = plan_release(configuration_of(config.document), earlier)
    names = {change: [item.name for item in plan if item.change is change] for change in PluginChange}
    removed = sorted(earlier.keys() - {item.name for item in plan})
    change = Change(
        f"Release the configuration of {plugin_set}?",
        (
            f"Fetched and verified first: {_list(names[PluginChange.DOWNLOADED])}.",
            f"Other variables without a download: {_list(names[PluginChange.RELEASED])}.",
            f"Removed: {_list(removed)}.",
            "It becomes active as soon as all live nodes have it. Runs that began keep the release that they"
            " began with.",
        ),
        "Create release",
        reverse("plugin-releases"),
        f"Created a release of {plugin_set}.",
        (_REASON,),
        {
            "curl": curl(request, "POST", f"plugin-releases{'?team=' if slug else ''}{slug}", {}),
            "cpctl": cpctl(
                *("plugins", "install", "-c", "plugins.yaml", "--mode", "server", *of_team(slug)),
            ),
        },
    )
    return confirm_change(
        request,
        change,
        lambda form: release_changes.create_release(
            team, ReleaseTerms(), actor=actor_of(caller, form.get("reason", ""))
        ),
    )


@dataclass(frozen=True, slots=True)
class _Action:
    """What can be done with a release. verb: of the API; fact: its effect."""

    verb: str
    button: str
    fact: str
    change: Callable[..., PluginRelease]


_ACTIVATE = _Action(
    "activate",
    "Activate release",
    "Jobs use it at once. Nodes that do not have it yet use the earlier release until they do.",
    release_changes.activate,
)
_ROLL_BACK = _Action(
    "rollback",
    "Roll back",
    "Its plugins become active again. Nothing is downloaded from providers. The configuration stays as it is:"
    " correct it before the next release.",
    release_changes.roll_back,
)
_CANCEL = _Action(
    "cancel",
    "Cancel release",
    "It never becomes active. The active release stays.",
    release_changes.cancel,
)


@page
def activate(request: HttpRequest, caller: Caller, release_id: UUID) -> HttpResponse:
    return _confirm(request, caller, release_id, _ACTIVATE)


@page
def roll_back(request: HttpRequest, caller: Caller, release_id: UUID) -> HttpResponse:
    return _confirm(request, caller, release_id, _ROLL_BACK)


@page
def cancel(request: HttpRequest, caller: Caller, release_id: UUID) -> HttpResponse:
    return _confirm(request, caller, release_id, _CANCEL)


def _confirm(request: HttpRequest, caller: Caller, release_id: UUID, action: _Action) -> HttpResponse:
    release = get_release(caller, release_id, Action.PLUGIN_RELEASE)
    change = Change(
        f"{action.button}: {release.number} of {release.plugin_set}?",
        (action.fact,),
        action.button,
        reverse("plugin-release", args=[release.id]),
        f"{action.button}: done.",
        (_REASON,),
        {
            "curl": curl(request, "POST", f"plugin-releases/{release.id}:{action.verb}"),
            "cpctl": cpctl(*_command(action, release)),
        },
    )
    return confirm_change(
        request,
        change,
        lambda form: action.change(release.id, actor=actor_of(caller, form.get("reason", ""))),
    )


def _command(action: _Action, release: PluginRelease) -> tuple[str, ...]:
    team = release.plugin_set.team
    number, owner = str(release.number), of_team(team.slug if team else "")
    if action is _ROLL_BACK:
        return ("plugins", "rollback", "--mode", "server", "--to", number, *owner)
    return ("plugins", "releases", action.verb, number, *owner)


def _list(names: list[str]) -> str:
    return ", ".join(names) or "none"
