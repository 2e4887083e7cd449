"""Changes of one set that happen at once: each is whole, and exactly one release is active."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
import yaml
from django.db import connection, transaction

from controlplane.access.models import AuditRecord
from controlplane.errors import ControlplaneError, VersionMismatch
from controlplane.preconditions import Precondition
from registry.plugin_releases import activation
from registry.plugin_releases.config_changes import Written, write_config
from registry.plugin_releases.models import InstallationState, PluginConfig, PluginRelease, PluginSet
from registry.plugin_releases.plugin_sets import lock_set
from registry.plugin_releases.release_changes import (
    ReleaseTerms,
    activate,
    cancel,
    create_release,
    roll_back,
)
from registry.plugins.documents.configuration import read_configuration
from tests.support.api_client import ACTOR
from tests.support.plugin_repository import PluginRepository
from tests.support.plugin_sets import document, entry, stored
from tests.support.waiting import until

pytestmark = pytest.mark.django_db(transaction=True)
REPOSITORY = PluginRepository("https://artifacts.example")


@pytest.fixture(autouse=True)
def _store(settings: Any, tmp_path: Path) -> None:
    settings.PLUGIN_STORE = str(tmp_path / "store")


def content(image: str) -> dict[str, Any]:
    plugin = entry("web", "bq", "sha256:" + "a" * 64, config={"executor_image": f"registry.example/{image}"})
    return document(REPOSITORY, plugin)


def at_once(*changes: Callable[[], Any]) -> list[Any]:
    """Return what each gave: its result, or the error that refused it. Any other error fails the test."""
    barrier = Barrier(len(changes))

    def run(change: Callable[[], Any]) -> Any:
        try:
            barrier.wait()
            return change()
        except ControlplaneError as error:
            return error
        finally:
            connection.close()

    with ThreadPoolExecutor(len(changes)) as pool:
        return list(pool.map(run, changes))


def states() -> list[str]:
    return list(PluginRelease.objects.order_by("number").values_list("state", flat=True))


def write_first(image: str) -> Written:
    reading = read_configuration(yaml.safe_dump(content(image)))
    return write_config(None, reading, precondition=Precondition(must_be_new=True), actor=ACTOR)


def test_of_releases_at_once_the_last_one_supersedes_the_others():
    first = stored(content("bq:1"))
    activate(first.id, actor=ACTOR)

    made = at_once(*[lambda: create_release(None, ReleaseTerms(), actor=ACTOR)] * 4)

    assert sorted(release.number for release in made) == [2, 3, 4, 5]
    assert states() == ["active", "superseded", "superseded", "superseded", "ready"]


def test_of_first_configurations_at_once_one_is_stored():
    results = at_once(*[lambda image=image: write_first(image) for image in ("bq:1", "bq:2", "bq:3")])

    assert sum(isinstance(result, VersionMismatch) for result in results) == 2
    assert (PluginSet.objects.count(), PluginConfig.objects.count()) == (1, 1)


def test_installers_that_activate_at_once_activate_once():
    release = stored(content("bq:1"))
    activation.beat("a", "0.1.0")
    activation.report("a", release, InstallationState.VERIFIED, plugins={})

    results = at_once(*[lambda: activation.activate_ready(ACTOR)] * 4)

    assert sum(len(result) for result in results) == 1
    assert states() == ["active"]
    assert AuditRecord.objects.filter(action="plugin_release.activated").count() == 1


def test_activation_rollback_and_cancellation_at_once_leave_one_active_release():
    first = stored(content("bq:1"))
    activate(first.id, actor=ACTOR)
    second = stored(content("bq:2"))
    activate(second.id, actor=ACTOR)
    third = stored(content("bq:3"))

    at_once(
        lambda: activate(third.id, actor=ACTOR),
        lambda: roll_back(first.id, actor=ACTOR),
        lambda: cancel(third.id, actor=ACTOR),
        lambda: create_release(None, ReleaseTerms(), actor=ACTOR),
    )

    active = PluginRelease.objects.filter(state="active")
    assert [release.id for release in active] == [PluginSet.objects.get().active_id]
    assert PluginRelease.objects.filter(state__in=("resolving", "ready")).count() <= 1


def test_who_waited_for_another_activation_supersedes_what_that_one_made_active():
    first = stored(content("bq:1"))
    activate(first.id, actor=ACTOR)
    second = stored(content("bq:2"))

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            lock_set(None)
            waiting = pool.submit(at_once, lambda: roll_back(first.id, actor=ACTOR))
            until(_is_somebody_waiting)
            activate(second.id, actor=ACTOR)
        waiting.result()

    # The first was active when the rollback began: it was superseded meanwhile, and is active again.
    assert states() == ["active", "superseded"]


def _is_somebody_waiting() -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return bool(cursor.fetchone()[0])
