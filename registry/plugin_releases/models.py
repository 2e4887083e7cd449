"""Tables of plugin sets: configurations, secrets, artifacts, releases and nodes. Rows only."""

from __future__ import annotations

from typing import Any

from django.db import models
from django.db.models.functions import Now

from controlplane.access.secrets.sealed_columns import register_sealed_column
from controlplane.access.team_models import Team
from controlplane.database.owned import OwnedQuerySet
from controlplane.identity.roles import Action
from controlplane.ids import uuid7

NAME_LENGTH = 63


class PluginSource(models.TextChoices):
    """Where a set's configuration comes from."""

    API = "api"
    # A mounted ConfigMap or folder; writes through the API are refused.
    FOLDER = "folder"


class ReleaseState(models.TextChoices):
    # An installer fetches its artifacts.
    RESOLVING = "resolving"
    # Every plugin is verified, or keeps its previous version; nodes install it.
    READY = "ready"
    ACTIVE = "active"
    # Another release became active, or was created, afterwards.
    SUPERSEDED = "superseded"
    # It could not be resolved at all, or somebody canceled it.
    FAILED = "failed"


class InstallationState(models.TextChoices):
    PENDING = "pending"
    DOWNLOADING = "downloading"
    VERIFIED = "verified"
    ACTIVE = "active"
    # At least one plugin keeps its previous version.
    DEGRADED = "degraded"


class PluginSetQuerySet(OwnedQuerySet["PluginSet"]):
    read_action = Action.PLUGIN_READ


class PluginSet(models.Model):
    """The plugins of a team, or of the platform (NULL). It has its own configuration, releases and stores.

    active: the release that jobs use.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    team = models.ForeignKey(Team, on_delete=models.PROTECT, null=True, related_name="+")
    source = models.CharField(max_length=8, choices=PluginSource.choices, default=PluginSource.API)
    config_version = models.IntegerField(default=0)
    active = models.ForeignKey(
        "registry.PluginRelease", on_delete=models.PROTECT, null=True, related_name="+"
    )
    created_at = models.DateTimeField(db_default=Now(), editable=False)

    objects = PluginSetQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["team"], name="plugin_set_is_unique", nulls_distinct=False)
        ]

    def __str__(self) -> str:
        return self.team.slug if self.team else "platform"


class PluginConfig(models.Model):
    """A version of a set's configuration. document: normalised, without secrets; digest: its SHA-256."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    plugin_set = models.ForeignKey(PluginSet, on_delete=models.CASCADE, related_name="configs")
    version = models.IntegerField()
    document: Any = models.JSONField()
    digest = models.CharField(max_length=64)
    message = models.CharField(max_length=500, blank=True, default="")
    changed_at = models.DateTimeField(db_default=Now(), editable=False)
    changed_by = models.CharField(max_length=63)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["plugin_set", "version"], name="plugin_config_version_is_unique")
        ]

    def __str__(self) -> str:
        return f"{self.plugin_set} v{self.version}"


class PluginSecret(models.Model):
    """A credential of a provider, to which the configuration refers by name."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    plugin_set = models.ForeignKey(PluginSet, on_delete=models.CASCADE, related_name="secrets")
    name = models.CharField(max_length=NAME_LENGTH)
    sealed = models.TextField()
    version = models.IntegerField(default=1)
    changed_at = models.DateTimeField(db_default=Now())
    changed_by = models.CharField(max_length=63)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["plugin_set", "name"], name="plugin_secret_is_unique")]

    def __str__(self) -> str:
        return self.name

    @property
    def context(self) -> str:
        return f"plugin_secret/{self.id}"


register_sealed_column("registry.PluginSecret", "sealed", lambda row: row.context)


class PluginArtifact(models.Model):
    """An archive in the content store that was verified, and the specification in it.

    sha256, tree: of the archive and of its unpacked files, hexadecimal. size: bytes. spec: the text of its
    specification, which is valid; NULL without one. file_name: its suffix decides how it is unpacked.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    # Of one set: what one team fetched tells another nothing.
    plugin_set = models.ForeignKey(PluginSet, on_delete=models.CASCADE, related_name="artifacts")
    sha256 = models.CharField(max_length=64)
    file_name = models.CharField(max_length=255)
    tree = models.CharField(max_length=64)
    size = models.BigIntegerField()
    version = models.CharField(max_length=128, blank=True, default="")
    spec = models.TextField(null=True)
    signature: Any = models.JSONField(null=True)
    # Without credentials.
    url = models.CharField(max_length=2000)
    fetched_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["plugin_set", "sha256", "file_name"], name="plugin_artifact_is_unique"
            )
        ]

    def __str__(self) -> str:
        return self.sha256


class PluginRelease(models.Model):
    """A configuration with the artifacts that were fetched for it: what a rollback brings back.

    number: counts up within its set. min_active: nodes that must have it before it becomes active; None: all
    live ones. lock_revision: rises when a plugin that was late is resolved. downloaded: bytes from providers.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    plugin_set = models.ForeignKey(PluginSet, on_delete=models.CASCADE, related_name="releases")
    number = models.IntegerField()
    config = models.ForeignKey(PluginConfig, on_delete=models.PROTECT, related_name="+")
    state = models.CharField(max_length=12, choices=ReleaseState.choices, default=ReleaseState.RESOLVING)
    is_automatic = models.BooleanField(default=True)
    min_active = models.IntegerField(null=True)
    lock_revision = models.IntegerField(default=0)
    downloaded = models.BigIntegerField(default=0)
    message = models.CharField(max_length=500, blank=True, default="")
    # What it needs to become active, as of the last look.
    waiting_for = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now(), editable=False)
    created_by = models.CharField(max_length=63)
    # When an archive of it arrived last.
    last_arrival_at = models.DateTimeField(db_default=Now())
    ready_at = models.DateTimeField(null=True)
    activated_at = models.DateTimeField(null=True)
    activated_by = models.CharField(max_length=63, blank=True, default="")
    # The installer that resolves it, until when, and how often it was taken.
    leased_by = models.CharField(max_length=253, blank=True, default="")
    leased_until = models.DateTimeField(null=True)
    lease_epoch = models.IntegerField(default=0)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["plugin_set", "number"], name="plugin_release_number_is_unique"),
            models.CheckConstraint(
                name="plugin_release_state_is_known", condition=models.Q(state__in=ReleaseState.values)
            ),
        ]
        indexes = [models.Index(fields=["state", "leased_until"], name="plugin_release_due")]

    def __str__(self) -> str:
        return f"{self.plugin_set} release {self.number}"


class ReleasedPlugin(models.Model):
    """A plugin of a release. artifact: NULL until it is fetched; fallback: of the release before, meanwhile.

    problem: why it is degraded. entry: of the configuration. identity: of the artifact that is wanted, and
    revision: of all that decides how it runs (registry/plugins/releases.py). next_try_at: after a failure.
    """

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    release = models.ForeignKey(PluginRelease, on_delete=models.CASCADE, related_name="plugins")
    name = models.CharField(max_length=NAME_LENGTH)
    provider = models.CharField(max_length=NAME_LENGTH)
    entry: Any = models.JSONField()
    identity = models.CharField(max_length=64)
    revision = models.CharField(max_length=64)
    change = models.CharField(max_length=10)
    artifact = models.ForeignKey(PluginArtifact, on_delete=models.PROTECT, null=True, related_name="+")
    fallback = models.ForeignKey(PluginArtifact, on_delete=models.PROTECT, null=True, related_name="+")
    problem = models.CharField(max_length=500, blank=True, default="")
    attempts = models.IntegerField(default=0)
    next_try_at = models.DateTimeField(null=True)
    changed_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [models.UniqueConstraint(fields=["release", "name"], name="released_plugin_is_unique")]
        indexes = [models.Index(fields=["name", "release"], name="released_plugin_by_name")]

    def __str__(self) -> str:
        return f"{self.name} of {self.release}"


class PluginNode(models.Model):
    """A machine with an installer. seen_at: by the database's clock."""

    name = models.CharField(primary_key=True, max_length=253)
    server_version = models.CharField(max_length=63)
    seen_at = models.DateTimeField(db_default=Now())
    joined_at = models.DateTimeField(db_default=Now(), editable=False)

    def __str__(self) -> str:
        return self.name


class PluginInstallation(models.Model):
    """What a node has of a release. plugins: name to state, version, digest and problem."""

    id = models.UUIDField(primary_key=True, default=uuid7, editable=False)
    node = models.ForeignKey(PluginNode, on_delete=models.CASCADE, related_name="installations")
    release = models.ForeignKey(PluginRelease, on_delete=models.CASCADE, related_name="installations")
    lock_revision = models.IntegerField()
    state = models.CharField(
        max_length=12, choices=InstallationState.choices, default=InstallationState.PENDING
    )
    plugins: Any = models.JSONField(default=dict)
    message = models.CharField(max_length=500, blank=True, default="")
    reported_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["node", "release"], name="plugin_installation_is_unique"),
            models.CheckConstraint(
                name="plugin_installation_state_is_known",
                condition=models.Q(state__in=InstallationState.values),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.release} on {self.node_id}"


class PluginFolder(models.Model):
    """The state of the folder source: what was read last, and what is wrong with it. One row.

    reader: the installer that reads; others only take over when it is silent.
    """

    id = models.SmallIntegerField(primary_key=True, default=1)
    reader = models.CharField(max_length=253, blank=True, default="")
    path = models.CharField(max_length=1000)
    digest = models.CharField(max_length=64, blank=True, default="")
    diagnostics: Any = models.JSONField(default=list)
    is_valid = models.BooleanField(default=True)
    read_at = models.DateTimeField(db_default=Now())
    loaded_at = models.DateTimeField(null=True)

    def __str__(self) -> str:
        return self.path
