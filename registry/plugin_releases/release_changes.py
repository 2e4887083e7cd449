"""Changes of releases of plugins. Each is one transaction with its audit row and event."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Max, QuerySet
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.team_models import Team
from controlplane.errors import ReleaseNotUsable, UnknownPluginConfig, UnknownPluginRelease
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from registry.plugin_releases import event_types
from registry.plugin_releases.config_changes import latest_config
from registry.plugin_releases.content_store import content_store, missing_archives
from registry.plugin_releases.models import (
    PluginRelease,
    PluginSet,
    ReleasedPlugin,
    ReleaseState,
)
from registry.plugin_releases.plugin_sets import lock_set, name_of
from registry.plugin_releases.release_plans import EarlierPlugin, PlannedPlugin, plan_release
from registry.plugins.documents.configuration import read_configuration_value
from registry.plugins.documents.content import Configuration

_WAITING = (ReleaseState.RESOLVING, ReleaseState.READY)


@dataclass(frozen=True, slots=True)
class ReleaseTerms:
    """How a release becomes active: by itself or by a person, and on how many nodes; None: all live ones."""

    is_automatic: bool = True
    min_active: int | None = None


@transaction.atomic
def create_release(team: Team | None, terms: ReleaseTerms, *, actor: Actor) -> PluginRelease:
    """Release the current configuration. Artifacts that are there already are not fetched again.

    A release that still waits is superseded. Raises UnknownPluginConfig without a configuration.
    """
    plugin_set = lock_set(team)
    config = latest_config(plugin_set)
    if config is None:
        raise UnknownPluginConfig("There is no configuration to release. Write it with PUT /plugin-config.")
    plan = plan_release(configuration_of(config.document), earlier_plugins(plugin_set))
    _supersede_waiting(plugin_set)
    is_ready = all(plugin.artifact for plugin in plan)
    release = PluginRelease.objects.create(
        plugin_set=plugin_set,
        number=next_number(plugin_set),
        config=config,
        state=ReleaseState.READY if is_ready else ReleaseState.RESOLVING,
        ready_at=Now() if is_ready else None,
        is_automatic=terms.is_automatic,
        min_active=terms.min_active,
        message=actor.reason,
        created_by=actor.name,
    )
    ReleasedPlugin.objects.bulk_create([_row(release, plugin) for plugin in plan])
    release.refresh_from_db()
    record(event_types.RELEASE_CREATED, release, actor)
    if is_ready:
        record(event_types.RELEASE_READY, release, actor)
    return release


def configuration_of(document: Any) -> Configuration:
    """Return a stored document as a configuration. Raises ReleaseNotUsable."""
    submission = read_configuration_value(document).content
    if submission is None:
        # Older than a rule that was added since.
        raise ReleaseNotUsable("The stored configuration is no longer valid. Write it again.")
    return submission.configuration


def earlier_plugins(plugin_set: PluginSet) -> dict[str, EarlierPlugin]:
    """Return the plugins of the active release by name. Archives that are gone are fetched again."""
    rows = list(_with_artifacts(plugin_set.active_id))
    gone = missing_archives(content_store(), {row.artifact.sha256 for row in rows if row.artifact})
    return {row.name: _earlier(row, gone) for row in rows}


def _earlier(row: ReleasedPlugin, gone: set[str]) -> EarlierPlugin:
    artifact = row.artifact if row.artifact and row.artifact.sha256 not in gone else None
    usable = row.artifact_id or row.fallback_id
    return EarlierPlugin(row.identity, row.revision, artifact.id if artifact else None, usable)


def _with_artifacts(release_id: UUID | None) -> QuerySet[ReleasedPlugin]:
    return ReleasedPlugin.objects.filter(release_id=release_id).select_related("artifact", "fallback")


def next_number(plugin_set: PluginSet) -> int:
    return int(plugin_set.releases.aggregate(last=Max("number"))["last"] or 0) + 1


@transaction.atomic
def activate(release_id: UUID, *, actor: Actor) -> PluginRelease:
    """Make a release the active one, also before all nodes have it. Raises ReleaseNotUsable."""
    release = _locked(release_id)
    if release.state == ReleaseState.ACTIVE:
        return release
    if release.state != ReleaseState.READY:
        raise ReleaseNotUsable(_not_ready(release))
    return make_active(release, event_types.RELEASE_ACTIVATED, actor)


@transaction.atomic
def roll_back(release_id: UUID, *, actor: Actor) -> PluginRelease:
    """Make an earlier release of a set the active one again. Nothing is downloaded from providers.

    Raises ReleaseNotUsable if it was never active, or if its archives are gone.
    """
    release = _locked(release_id)
    if release.state == ReleaseState.ACTIVE:
        return release
    if release.state != ReleaseState.SUPERSEDED or release.activated_at is None:
        raise ReleaseNotUsable(
            f"Release {release.number} was never active, so there is nothing to roll back to."
            " Choose one with an activation time, or activate this one."
        )
    _check_archives(release)
    return make_active(release, event_types.RELEASE_ROLLED_BACK, actor)


@transaction.atomic
def cancel(release_id: UUID, *, actor: Actor) -> PluginRelease:
    """End a release that is not active yet. Raises ReleaseNotUsable."""
    release = _locked(release_id)
    if release.state not in _WAITING:
        raise ReleaseNotUsable(f"Release {release.number} is {release.state}: there is nothing to cancel.")
    return fail(release, f"Canceled by {actor.name}.", actor)


def fail(release: PluginRelease, problem: str, actor: Actor) -> PluginRelease:
    """End a release that cannot be used, in the caller's transaction."""
    release.state, release.message = ReleaseState.FAILED, problem[:500]
    release.save(update_fields=["state", "message"])
    record(event_types.RELEASE_FAILED, release, actor, problem=release.message)
    return release


def make_active(release: PluginRelease, event_type: EventType, actor: Actor) -> PluginRelease:
    """Switch the set to this release, in the caller's transaction, which has locked the set."""
    plugin_set = release.plugin_set
    before = plugin_set.active
    if before is not None:
        PluginRelease.objects.filter(id=before.id).update(state=ReleaseState.SUPERSEDED)
    # What is newer and still waits would become active by itself, against what was decided here.
    _supersede_waiting(plugin_set, besides=release)
    release.state, release.activated_by = ReleaseState.ACTIVE, actor.name
    release.activated_at = Now()
    release.save(update_fields=["state", "activated_at", "activated_by"])
    release.refresh_from_db()
    plugin_set.active = release
    plugin_set.save(update_fields=["active"])
    record(event_type, release, actor, before={"number": before.number} if before else None)
    return release


def record(
    event_type: EventType,
    release: PluginRelease,
    actor: Actor,
    *,
    before: dict[str, Any] | None = None,
    **data: Any,
) -> None:
    """Write the audit row and the event of a change."""
    plugin_set = release.plugin_set
    audit.record(
        event_type,
        "plugin_release",
        str(release.id),
        actor=actor,
        before=before,
        after={"number": release.number, "state": str(release.state)},
        data={
            "team": name_of(plugin_set),
            "number": release.number,
            "config_version": release.config.version,
            **data,
        },
        team_id=plugin_set.team_id,
    )


def _row(release: PluginRelease, plugin: PlannedPlugin) -> ReleasedPlugin:
    return ReleasedPlugin(
        release=release,
        name=plugin.name,
        provider=plugin.provider,
        entry=plugin.entry,
        identity=plugin.identity,
        revision=plugin.revision,
        change=plugin.change,
        artifact_id=plugin.artifact,
        fallback_id=plugin.fallback,
    )


def _supersede_waiting(plugin_set: PluginSet, besides: PluginRelease | None = None) -> None:
    rows = plugin_set.releases.filter(state__in=_WAITING)
    if besides is not None:
        rows = rows.exclude(id=besides.id)
    rows.update(state=ReleaseState.SUPERSEDED, lease_epoch=F("lease_epoch") + 1)


def _locked(release_id: UUID) -> PluginRelease:
    """Return the release with its set locked. Raises UnknownPluginRelease."""
    found = PluginRelease.objects.select_related("plugin_set__team").filter(id=release_id).first()
    if found is None:
        raise UnknownPluginRelease(f"There is no release {release_id}.")
    plugin_set = lock_set(found.plugin_set.team)
    release = PluginRelease.objects.select_related("config").get(id=release_id)
    release.plugin_set = plugin_set
    return release


def _check_archives(release: PluginRelease) -> None:
    artifacts = {row.name: row.artifact or row.fallback for row in _with_artifacts(release.id)}
    gone = missing_archives(content_store(), {one.sha256 for one in artifacts.values() if one})
    names = [name for name, artifact in sorted(artifacts.items()) if artifact and artifact.sha256 in gone]
    if names:
        raise ReleaseNotUsable(
            f"The archives of {', '.join(names[:5])} are no longer in the content store, so release"
            f" {release.number} cannot be installed. Restore PLUGIN_STORE, or write its configuration again"
            " and create a release, which fetches them."
        )


def _not_ready(release: PluginRelease) -> str:
    if release.state == ReleaseState.RESOLVING:
        return f"Release {release.number} is not ready: its archives are being fetched. Wait for `ready`."
    if release.activated_at is not None:
        return f"Release {release.number} was active before. Bring it back with :rollback."
    return f"Release {release.number} is {release.state}. Create another release."
