"""Plugin sets for tests: a configuration is written and released, and installers take their steps."""

from __future__ import annotations

import hashlib
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml
from django.db import transaction
from django.db.models.functions import Now

from controlplane.access.team_models import Team
from registry.plugin_releases.config_changes import write_config
from registry.plugin_releases.content_store import content_store
from registry.plugin_releases.event_types import RELEASE_ACTIVATED
from registry.plugin_releases.installer import Installer
from registry.plugin_releases.models import PluginArtifact, PluginRelease, ReleasedPlugin
from registry.plugin_releases.release_changes import ReleaseTerms, create_release, make_active
from registry.plugins.documents.configuration import read_configuration
from tests.support.api_client import ACTOR
from tests.support.plugin_repository import PluginRepository, plugin_archive, spec_of


def entry(provider: str, name: str, checksum: str = "", **fields: Any) -> dict[str, Any]:
    config = fields.pop("config", {"executor_image": "registry.example/bq:1.0"})
    return {
        "provider": provider,
        "output": name,
        "path": f"{name}.tar.gz",
        "config": config,
        **({"checksum": checksum} if checksum else {}),
        **fields,
    }


def document(repository: PluginRepository, *entries: dict[str, Any], **provider: Any) -> dict[str, Any]:
    providers = [{"type": "url", "name": "web", "url": repository.url, **provider}]
    return {"plugins": {"providers": providers, "plugins": list(entries)}}


def released(content: dict[str, Any], team: Team | None = None, **terms: Any) -> PluginRelease:
    """Write the configuration, and release it."""
    write_config(team, read_configuration(yaml.safe_dump(content)), precondition=None, actor=ACTOR)
    return create_release(team, ReleaseTerms(**terms), actor=ACTOR)


def stored(content: dict[str, Any], team: Team | None = None, **terms: Any) -> PluginRelease:
    """Release a configuration, with archives in the content store, as if an installer had fetched them."""
    release = released(content, team, **terms)
    for row in release.plugins.filter(artifact=None):
        row.artifact = _stored_archive(release, row.name, row.entry.get("version", "1.0.0").lstrip("="))
        row.save()
    PluginRelease.objects.filter(id=release.id).update(state="ready", ready_at=Now())
    release.refresh_from_db()
    return release


def _stored_archive(release: PluginRelease, name: str, version: str) -> PluginArtifact:
    archive = plugin_archive(name, version=version)
    sha256 = hashlib.sha256(archive).hexdigest()
    with tempfile.NamedTemporaryFile() as file:
        file.write(archive)
        file.flush()
        content_store().put(Path(file.name), sha256)
    artifact, _ = PluginArtifact.objects.get_or_create(
        plugin_set=release.plugin_set,
        sha256=sha256,
        file_name=f"{name}.tar.gz",
        defaults={
            "tree": "b" * 64,
            "size": len(archive),
            "url": f"https://artifacts.example/{name}.tar.gz",
            "version": version,
            "spec": yaml.safe_dump(spec_of(name, version=version)),
        },
    )
    return artifact


def steps_until(installer: Installer, condition: Callable[[], bool], seconds: float = 20) -> None:
    """Have the installer take steps until the condition holds."""
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until, "The installer did not get there."
        installer.step()
        time.sleep(0.02)


def state_of(release: PluginRelease) -> str:
    return PluginRelease.objects.values_list("state", flat=True).get(id=release.id)


@transaction.atomic
def release_plugins(
    *names: str, image: str = "registry.example/bq:1.0", script: str = "python3 /opt/main.py"
) -> PluginRelease:
    """An active release with these plugins, whose archives are in no store: nothing here reads them."""
    entries = [entry("web", name, "sha256:" + "a" * 64, config={"executor_image": image}) for name in names]
    release = released(document(PluginRepository("https://plugins.example"), *entries))
    for row in ReleasedPlugin.objects.filter(release=release):
        row.artifact, _ = PluginArtifact.objects.get_or_create(
            plugin_set=release.plugin_set,
            sha256="a" * 64,
            file_name=f"{row.name}.tar.gz",
            defaults={
                "tree": "b" * 64,
                "size": 1,
                "url": "https://x",
                "spec": yaml.safe_dump(_with_script(spec_of(row.name), script)),
            },
        )
        row.save()
    release.state = "ready"
    release.save()
    return make_active(release, RELEASE_ACTIVATED, ACTOR)


def _with_script(spec: dict[str, object], script: str) -> dict[str, object]:
    return {**spec, "entrypoint": {"script": script}}
