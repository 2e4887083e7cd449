"""Pages of plugins and jobs, as people meet them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from controlplane.identity.roles import Role
from registry.plugin_releases.content_store import place_of
from tests.api.registry.test_stored_jobs import AT, URL, prepare
from tests.browser.conftest import Look
from tests.support.api_client import Api, make_project, token_for
from tests.support.plugin_sets import release_plugins


@pytest.fixture(autouse=True)
def _store(settings: Any, tmp_path: Path) -> None:
    settings.PLUGIN_STORE = str(tmp_path)
    archive = tmp_path / place_of("a" * 64)
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"x")


def test_every_page_of_plugins_and_jobs_hinders_nobody(look: Look, jane: Any) -> None:
    make_project("shop")
    earlier = prepare(Api(token_for(Role.ADMIN)))
    release = release_plugins("bq", "mail", image="registry.example/bq:2.0")
    for name, address in {
        "plugins": "/plugins",
        "plugin": "/plugins/bq",
        "plugin-releases": "/plugin-releases",
        "plugin-node-matrix": "/plugin-releases:nodes",
        "plugin-release": f"/plugin-releases/{release.id}",
        "plugin-rollback": f"/plugin-releases/{earlier.id}/rollback",
        "plugin-config": "/plugin-config",
        "plugin-config-edit": "/plugin-config/edit",
        "jobs": "/jobs",
        "job": f"/{URL}?scheduled_at={AT[:16]}",
    }.items():
        look(name, address)
