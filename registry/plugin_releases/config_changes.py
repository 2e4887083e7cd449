"""Changes of a plugin configuration. Each is one transaction with its audit row and event."""

from __future__ import annotations

import hmac
from dataclasses import dataclass
from typing import Any

from django.db import transaction
from django.db.models.functions import Now

from controlplane.access import audit
from controlplane.access.secrets.sealing import seal, unseal
from controlplane.access.team_models import Team
from controlplane.errors import (
    FieldError,
    InvalidRequest,
    SecretsUnavailable,
    SourceIsReadOnly,
    UnknownPluginSecret,
)
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check
from registry.plugin_releases import event_types
from registry.plugin_releases.models import PluginConfig, PluginSecret, PluginSet, PluginSource
from registry.plugin_releases.plugin_sets import lock_set, name_of
from registry.plugin_releases.team_limits import platform_only
from registry.plugins.documents.canonical import digest
from registry.plugins.documents.configuration import Submission
from registry.plugins.documents.content import to_document
from registry.plugins.documents.diagnostics import Severity
from registry.plugins.documents.reading import Reading
from registry.plugins.documents.secrets import SecretToSeal


@dataclass(frozen=True, slots=True)
class Written:
    """The configuration in force after a write. is_new: False if the document was the same."""

    config: PluginConfig
    is_new: bool


@transaction.atomic
def write_config(
    team: Team | None,
    reading: Reading[Submission],
    *,
    precondition: Precondition | None,
    actor: Actor,
    source: PluginSource = PluginSource.API,
) -> Written:
    """Store a new version of the configuration, and seal the secrets that its document had.

    The same document again changes nothing. Raises InvalidRequest with every error of the document,
    VersionMismatch, VersionRequired, SourceIsReadOnly, SecretsUnavailable.
    """
    submission = require_valid(reading, team)
    plugin_set = lock_set(team)
    _check_source(plugin_set, source)
    check(precondition, plugin_set.config_version or None)
    _seal_all(plugin_set, submission.secrets, actor)
    document = to_document(submission.configuration)
    latest = latest_config(plugin_set)
    if latest is not None and latest.digest == digest(document):
        return Written(latest, is_new=False)
    return Written(_store(plugin_set, document, latest, actor), is_new=True)


def require_valid(reading: Reading[Submission], team: Team | None) -> Submission:
    """Return a valid configuration that this owner may have. Raises InvalidRequest with every error."""
    diagnostics = [item for item in reading.diagnostics if item.severity is Severity.ERROR]
    if reading.content is not None:
        if team is None:
            return reading.content
        diagnostics = list(platform_only(reading.content.configuration))
        if not diagnostics:
            return reading.content
    found = [
        FieldError(
            item.path, item.code.value, item.message, hint=item.hint, line=item.line, column=item.column
        )
        for item in diagnostics
    ]
    raise InvalidRequest("The plugin configuration is invalid; nothing was stored.", errors=found)


def latest_config(plugin_set: PluginSet) -> PluginConfig | None:
    return plugin_set.configs.filter(version=plugin_set.config_version).first()


def _check_source(plugin_set: PluginSet, source: PluginSource) -> None:
    if plugin_set.source == source:
        return
    if source == PluginSource.API:
        raise SourceIsReadOnly(
            "The plugin configuration comes from a folder on the server, PLUGIN_CONFIG_PATH. Change the file"
            " there; it is read again within seconds."
        )
    plugin_set.source = source
    plugin_set.save(update_fields=["source"])


def _store(
    plugin_set: PluginSet, document: dict[str, Any], latest: PluginConfig | None, actor: Actor
) -> PluginConfig:
    plugin_set.config_version += 1
    plugin_set.save(update_fields=["config_version"])
    config = PluginConfig.objects.create(
        plugin_set=plugin_set,
        version=plugin_set.config_version,
        document=document,
        digest=digest(document),
        message=actor.reason,
        changed_by=actor.name,
    )
    config.refresh_from_db()
    audit.record(
        event_types.CONFIG_CHANGED,
        "plugin_config",
        str(plugin_set.id),
        actor=actor,
        before=latest.document if latest else None,
        after=document,
        data={"team": name_of(plugin_set), "version": config.version, "digest": config.digest},
        team_id=plugin_set.team_id,
    )
    return config


def _seal_all(plugin_set: PluginSet, secrets: tuple[SecretToSeal, ...], actor: Actor) -> None:
    for secret in secrets:
        if not _has_value(plugin_set, secret):
            write_secret(plugin_set, secret.name, secret.value, actor=actor)


def _has_value(plugin_set: PluginSet, secret: SecretToSeal) -> bool:
    """Return whether the credential is stored already: the same document again changes nothing."""
    row = plugin_set.secrets.filter(name=secret.name).first()
    if row is None:
        return False
    try:
        return hmac.compare_digest(unseal(row.sealed, row.context), secret.value.encode())
    except SecretsUnavailable:
        # Its key is lost, and the value is here.
        return False


@transaction.atomic
def write_secret(plugin_set: PluginSet, name: str, value: str, *, actor: Actor) -> PluginSecret:
    """Store a credential. Raises SecretsUnavailable."""
    row = plugin_set.secrets.select_for_update().filter(name=name).first()
    secret = row or PluginSecret(plugin_set=plugin_set, name=name, version=0)
    secret.sealed = seal(value.encode(), secret.context)
    secret.version += 1
    secret.changed_by = actor.name
    secret.changed_at = Now()
    secret.save()
    secret.refresh_from_db()
    _record_secret(event_types.SECRET_CHANGED, secret, actor)
    return secret


@transaction.atomic
def delete_secret(secret: PluginSecret, *, actor: Actor) -> None:
    """Delete a credential. Providers that refer to it fail from then on. Raises UnknownPluginSecret."""
    if not PluginSecret.objects.select_for_update().filter(id=secret.id).exists():
        raise UnknownPluginSecret(f"The secret {secret.name} was deleted meanwhile.")
    _record_secret(event_types.SECRET_DELETED, secret, actor)
    secret.delete()


def _record_secret(event_type: Any, secret: PluginSecret, actor: Actor) -> None:
    plugin_set = secret.plugin_set
    audit.record(
        event_type,
        "plugin_secret",
        str(secret.id),
        actor=actor,
        before=None,
        after=None,
        data={"team": name_of(plugin_set), "name": secret.name},
        team_id=plugin_set.team_id,
    )
