"""Pages of plugins and jobs: what is installed, releases with actions, and what a run gets and why."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.plugin_releases.activation import beat, report
from registry.plugin_releases.content_store import place_of
from registry.plugin_releases.models import (
    InstallationState,
    PluginConfig,
    PluginNode,
    PluginRelease,
    PluginSet,
)
from tests.api.registry.test_stored_jobs import AT, URL, prepare
from tests.support.api_client import Api, logged_in, make_project, token_for
from tests.support.plugin_sets import release_plugins

pytestmark = pytest.mark.django_db
CONFIG = "plugins:\n  providers:\n  - {type: url, name: web, url: 'https://plugins.example'}\n  plugins: []\n"


@pytest.fixture
def browser() -> Client:
    return logged_in("jane", Role.ADMIN)


@pytest.fixture
def release(settings: Any, tmp_path: Path) -> PluginRelease:
    settings.PLUGIN_STORE = str(tmp_path)
    archive = tmp_path / place_of("a" * 64)
    archive.parent.mkdir(parents=True)
    archive.write_bytes(b"x")
    make_project("shop")
    return prepare(Api(token_for(Role.ADMIN)))


def text_of(answer: Any, status: int = 200) -> str:
    assert answer.status_code == status, answer.content[:500]
    return answer.content.decode()


def test_plugins_are_listed_with_version_state_nodes_and_jobs(browser, release):
    page = text_of(browser.get("/plugins"))
    assert ">bq</a>" in page
    assert "1 </td>" in page or ">1</td>" in page
    one = text_of(browser.get("/plugins/bq"))
    assert "registry.example/bq:1.0" in one
    assert "shop/orders.daily" in one


def test_an_empty_list_says_how_to_begin(browser):
    assert "cpctl plugins install" in text_of(browser.get("/plugins"))
    assert "No releases" in text_of(browser.get("/plugin-releases"))
    assert "No plugin configuration" in text_of(browser.get("/plugin-config"))
    assert "No jobs" in text_of(browser.get("/jobs"))


def test_a_release_shows_its_plugins_and_is_rolled_back(browser, release):
    newer = release_plugins("bq", image="registry.example/bq:2.0")
    page = text_of(browser.get(f"/plugin-releases/{release.id}"))
    assert "Roll back" in page
    assert "Roll back" not in text_of(browser.get(f"/plugin-releases/{newer.id}"))
    asked = text_of(browser.get(f"/plugin-releases/{release.id}/rollback"))
    assert "Nothing is downloaded" in asked
    done = browser.post(f"/plugin-releases/{release.id}/rollback", {"reason": "broken"})
    assert done.status_code == 302
    assert PluginSet.objects.get().active_id == release.id


def test_a_configuration_is_saved_refused_with_places_and_released(browser):
    refused = text_of(browser.post("/plugin-config/edit", {"text": "plugins: [", "version": "0"}), 400)
    assert "column" in refused
    assert not PluginConfig.objects.exists()
    assert browser.post("/plugin-config/edit", {"text": CONFIG, "version": "0"}).status_code == 302
    stale = browser.post("/plugin-config/edit", {"text": CONFIG, "version": "9"})
    assert stale.status_code == 412
    assert "plugins.example" in text_of(browser.get("/plugin-config"))
    assert "Fetched and verified first: none." in text_of(browser.get("/plugin-releases:new"))
    assert browser.post("/plugin-releases:new", {}).status_code == 302
    assert PluginRelease.objects.get().state == "ready"


def test_a_job_shows_what_a_run_gets_and_why_without_secrets(browser, release):
    page = text_of(browser.get(f"/{URL}?scheduled_at={AT[:16]}"))
    assert "sales.orders" in page
    assert "DATASET of the project" in page
    assert "&lt;SECRET:warehouse&gt;" in page
    assert "$HOME" not in page
    hook = text_of(browser.get(f"/{URL}?instance=mail"))
    assert "hook mail" in hook
    assert ">orders.daily</a>" in text_of(browser.get("/jobs?plugin=mail"))


def test_a_job_whose_plugin_is_not_released_says_so(browser, release):
    release_plugins("other")
    assert "No active release has the plugin" in text_of(browser.get(f"/{URL}"))


def test_readers_of_other_projects_see_no_job_and_viewers_get_no_buttons(release):
    viewer = logged_in("vera", Role.VIEWER)
    assert "Edit configuration" not in text_of(viewer.get("/plugin-config"))
    assert viewer.get("/plugin-config/edit").status_code == 403
    make_project("mine")
    stranger = logged_in("sam", Role.VIEWER, scope=Scope(project="mine"))
    assert stranger.get(f"/{URL}").status_code == 403
    assert "orders.daily" not in text_of(stranger.get("/jobs"))


def test_the_matrix_shows_what_each_node_has_of_each_release(browser, release):
    newer = release_plugins("bq", image="registry.example/bq:2.0")
    for node in ("node-a", "node-b", "node-c"):
        beat(node, "1.0")
    PluginNode.objects.filter(name="node-b").update(seen_at=AT)
    report("node-a", release, InstallationState.ACTIVE, plugins={"bq": {"version": "1.4", "state": "active"}})
    report("node-b", newer, InstallationState.DOWNLOADING, plugins={}, message="Half of it.")
    PluginRelease.objects.filter(id=newer.id).update(lock_revision=newer.lock_revision + 1)

    page = text_of(browser.get("/plugin-releases:nodes"))

    rows = dict(re.findall(r'<th scope="row" class="name">([\w-]+) (.*?)</tr>', page, re.DOTALL))
    assert list(rows) == ["node-a", "node-b", "node-c"]
    assert ("live" in rows["node-a"], "silent" in rows["node-b"]) == (True, True)
    assert [len(re.findall("not installed", row)) for row in rows.values()] == [1, 1, 2]
    assert "bq 1.4" in rows["node-a"]
    assert ("Half of it." in rows["node-b"], "an earlier lock" in rows["node-b"]) == (True, True)
    heads = re.findall(r"(\d) live node", page)
    # Newest first; a node that is silent does not count.
    assert heads == ["0", "1"]
    assert 'href="/plugin-releases:nodes"' in text_of(browser.get("/plugin-releases"))
