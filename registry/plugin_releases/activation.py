"""Nodes: what they have of each release, and the releases that become active by it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from controlplane.identity.actors import Actor
from controlplane.messaging.failpoints import reach
from registry.plugin_releases import event_types
from registry.plugin_releases.activation_decisions import NODE_SECONDS, Progress, measure
from registry.plugin_releases.models import (
    InstallationState,
    PluginInstallation,
    PluginNode,
    PluginRelease,
    ReleaseState,
)
from registry.plugin_releases.plugin_sets import lock_set
from registry.plugin_releases.release_changes import make_active

_FORGOTTEN = timedelta(days=1)
# What a node has verified, it can switch to at any time.
_INSTALLED = (InstallationState.VERIFIED, InstallationState.ACTIVE, InstallationState.DEGRADED)


def beat(node: str, server_version: str) -> None:
    """Note that a node lives, by the database's clock, and forget nodes that have been silent for a day."""
    PluginNode.objects.update_or_create(
        name=node, defaults={"server_version": server_version, "seen_at": Now()}
    )
    PluginNode.objects.filter(seen_at__lt=Now() - _FORGOTTEN).delete()


@transaction.atomic
def report(
    node: str,
    release: PluginRelease,
    state: InstallationState,
    *,
    plugins: dict[str, Any],
    message: str = "",
) -> None:
    """Note what a node has of a release, instead of the other one of its set that it had."""
    earlier = PluginInstallation.objects.filter(node_id=node, release__plugin_set_id=release.plugin_set_id)
    earlier.exclude(release=release).delete()
    PluginInstallation.objects.update_or_create(
        node_id=node,
        release=release,
        defaults={
            "lock_revision": release.lock_revision,
            "state": state,
            "plugins": plugins,
            "message": message[:500],
            "reported_at": Now(),
        },
    )


def live_nodes() -> list[str]:
    """Return the names of nodes that were heard of a short time ago."""
    rows = PluginNode.objects.filter(seen_at__gte=Now() - timedelta(seconds=NODE_SECONDS))
    return list(rows.order_by("name").values_list("name", flat=True))


def progress_of(release: PluginRelease, live: list[str]) -> Progress:
    """Return how far nodes are with a release."""
    rows = release.installations.filter(state__in=_INSTALLED)
    installed = dict(rows.values_list("node_id", "lock_revision"))
    return measure(release.lock_revision, installed, live, release.min_active)


def activate_ready(actor: Actor) -> list[PluginRelease]:
    """Activate each release that is ready and that enough nodes have. One set's failure stops no other."""
    rows = PluginRelease.objects.filter(state=ReleaseState.READY, is_automatic=True)
    live = live_nodes()
    activated = []
    for release in rows.select_related("plugin_set__team", "config").order_by("plugin_set_id", "number"):
        progress = progress_of(release, live)
        if progress.is_enough and (done := _activate(release, actor)):
            activated.append(done)
        elif not progress.is_enough and progress.message != release.waiting_for:
            PluginRelease.objects.filter(id=release.id, state=ReleaseState.READY).update(
                waiting_for=progress.message[:500]
            )
    return activated


@transaction.atomic
def _activate(release: PluginRelease, actor: Actor) -> PluginRelease | None:
    plugin_set = lock_set(release.plugin_set.team)
    # Another installer may have been faster, or a person canceled it.
    row = PluginRelease.objects.select_related("config").filter(id=release.id).first()
    if row is None or row.state != ReleaseState.READY:
        return None
    row.plugin_set = plugin_set
    PluginRelease.objects.filter(id=row.id).update(waiting_for="")
    reach("release activating")
    return make_active(row, event_types.RELEASE_ACTIVATED, actor)
