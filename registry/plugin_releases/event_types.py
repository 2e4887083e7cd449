"""Events of plugin configurations and releases."""

from typing import Any

from controlplane.events.audiences import declare_audience
from controlplane.events.types import INTEGER, TEXT, register
from controlplane.identity.roles import Action

for _kind in ("plugin_config", "plugin_secret", "plugin_release"):
    declare_audience(_kind, Action.PLUGIN_READ)
# team: empty for the platform.
_RELEASE: dict[str, Any] = {"team": TEXT, "number": INTEGER, "config_version": INTEGER}
CONFIG_CHANGED = register(
    "plugin_config.changed",
    "A plugin configuration has a new version.",
    team=TEXT,
    version=INTEGER,
    digest=TEXT,
)
SECRET_CHANGED = register(
    "plugin_secret.changed", "The credential of a plugin provider was written.", team=TEXT, name=TEXT
)
SECRET_DELETED = register(
    "plugin_secret.deleted", "The credential of a plugin provider was deleted.", team=TEXT, name=TEXT
)
RELEASE_CREATED = register("plugin_release.created", "A release of plugins was created.", **_RELEASE)
RELEASE_READY = register("plugin_release.ready", "All artifacts of a release are verified.", **_RELEASE)
RELEASE_ACTIVATED = register("plugin_release.activated", "A release of plugins became active.", **_RELEASE)
RELEASE_ROLLED_BACK = register(
    "plugin_release.rolled_back", "An earlier release of plugins became active again.", **_RELEASE
)
RELEASE_DEGRADED = register(
    "plugin_release.degraded",
    "A plugin of a release keeps its previous version, or has none.",
    **_RELEASE,
    plugin=TEXT,
    problem=TEXT,
)
RELEASE_FAILED = register("plugin_release.failed", "A release of plugins failed.", **_RELEASE, problem=TEXT)
