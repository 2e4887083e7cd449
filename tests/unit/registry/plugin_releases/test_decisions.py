"""When releases become ready and active, and what they take over. Laws hold for any history."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from uuid import UUID, uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from registry.plugin_releases.activation_decisions import measure
from registry.plugin_releases.folder_files import team_of
from registry.plugin_releases.readiness import FetchProgress, is_ready, retry_delay
from registry.plugin_releases.release_plans import EarlierPlugin, PluginChange, plan_release
from registry.plugin_releases.team_limits import platform_only
from registry.plugins.documents.configuration import read_configuration_value
from registry.plugins.documents.content import Configuration
from registry.plugins.releases import find_releases

NODES = st.sampled_from("abcdef")
INSTALLED = st.dictionaries(NODES, st.integers(0, 5))
LIVE = st.sets(NODES)
GRACE = timedelta(seconds=5)
PLUGINS = st.lists(st.builds(FetchProgress, st.booleans(), st.booleans(), st.booleans()), max_size=6)


@given(st.integers(0, 5), INSTALLED, LIVE, st.none() | st.integers(1, 8))
def test_a_release_that_is_active_is_on_enough_live_nodes(lock_revision, installed, live, min_active):
    progress = measure(lock_revision, installed, live, min_active)

    have = {node for node in live if installed.get(node, -1) >= lock_revision}
    assert progress.have == len(have)
    assert set(progress.behind) == live - have
    assert progress.is_enough == (bool(live) and len(have) >= (min_active or len(live)))
    assert bool(progress.message) == (not progress.is_enough)


@given(st.integers(0, 5), INSTALLED, LIVE, st.none() | st.integers(1, 8), NODES)
def test_one_more_node_that_has_it_never_stops_a_release(lock_revision, installed, live, min_active, node):
    before = measure(lock_revision, installed, live, min_active)
    after = measure(lock_revision, {**installed, node: lock_revision}, live | {node}, min_active)

    assert after.is_enough or not before.is_enough


@given(INSTALLED, st.none() | st.integers(1, 8))
def test_nodes_that_are_silent_have_no_vote(installed, min_active):
    progress = measure(0, installed, (), min_active)

    assert not progress.is_enough
    assert "plugin_installer" in progress.message


@given(PLUGINS, st.integers(0, 10))
def test_a_slow_provider_holds_back_no_other_for_longer_than_the_grace(plugins, seconds):
    ready = is_ready(plugins, timedelta(seconds=seconds), GRACE)
    is_usable = not plugins or any(plugin.is_usable for plugin in plugins)
    is_late = any(plugin.is_late for plugin in plugins)

    assert ready == (is_usable and (seconds >= 5 or not is_late))


@given(st.integers(1, 10_000))
def test_a_provider_is_asked_ever_less_often_up_to_ten_minutes(attempts):
    assert timedelta(seconds=5) <= retry_delay(attempts) <= retry_delay(attempts + 1) <= timedelta(minutes=10)


def configuration(**plugins: str) -> Configuration:
    """A configuration with plugins by their checksum and image: `bq="a 1.0"`."""
    entries = [
        {
            "provider": "web",
            "output": name,
            "path": f"{name}.tar.gz",
            "checksum": "sha256:" + text.split()[0] * 64,
            "config": {"executor_image": f"registry.example/x:{text.split()[1]}"},
        }
        for name, text in plugins.items()
    ]
    providers = [{"type": "url", "name": "web", "url": "https://artifacts.example"}]
    reading = read_configuration_value({"plugins": {"providers": providers, "plugins": entries}})
    assert reading.content, reading.diagnostics
    return reading.content.configuration


def active(earlier: Configuration, **artifacts: UUID | None) -> dict[str, EarlierPlugin]:
    found = find_releases(earlier)
    return {
        name: EarlierPlugin(found[name].artifact, found[name].revision, artifact, artifact)
        for name, artifact in artifacts.items()
    }


VERSIONS = st.builds("{} {}".format, st.sampled_from("abc"), st.sampled_from(["1.0", "2.0"]))
CONFIGURATIONS = st.dictionaries(st.sampled_from(["bq", "dbt", "mail"]), VERSIONS)


@given(CONFIGURATIONS, CONFIGURATIONS)
def test_only_what_is_new_is_downloaded(before, after):
    artifacts = {name: uuid4() for name in before}
    plan = {
        plugin.name: plugin
        for plugin in plan_release(configuration(**after), active(configuration(**before), **artifacts))
    }

    assert plan.keys() == after.keys()
    for name, plugin in plan.items():
        is_kept = name in before and before[name].split()[0] == after[name].split()[0]
        assert plugin.artifact == (artifacts[name] if is_kept else None)
        assert plugin.fallback == artifacts.get(name)
        assert (plugin.change is PluginChange.DOWNLOADED) == (not is_kept)
        assert (plugin.change is PluginChange.UNCHANGED) == (before.get(name) == after[name])


def test_what_was_never_fetched_is_fetched_and_what_runs_is_kept():
    same = configuration(bq="a 1.0")
    running = uuid4()
    release = find_releases(same)["bq"]
    earlier = {"bq": EarlierPlugin(release.artifact, release.revision, None, usable=running)}
    (plugin,) = plan_release(same, earlier)

    assert (plugin.change, plugin.artifact, plugin.fallback) == (PluginChange.DOWNLOADED, None, running)


@pytest.mark.parametrize(
    ("provider", "path"),
    [
        ({"type": "file", "root": "/srv/plugins"}, "/plugins/providers/0/type"),
        (
            {"type": "url", "url": "https://x.example", "auth": {"type": "bearer", "env": "TOKEN"}},
            "/plugins/providers/0/auth",
        ),
        ({"type": "url", "url": "https://x.example", "auth": {"type": "bearer", "secretRef": "token"}}, ""),
        ({"type": "url", "url": "https://x.example"}, ""),
    ],
)
def test_teams_have_neither_the_files_nor_the_identity_of_the_server(provider, path):
    document = {"plugins": {"providers": [{"name": "web", **provider}], "plugins": []}}
    reading = read_configuration_value(document)
    assert reading.content, reading.diagnostics

    refused = list(platform_only(reading.content.configuration))
    assert [one.path for one in refused] == ([path] if path else [])
    assert all(one.hint for one in refused)


@pytest.mark.parametrize(
    ("name", "team"),
    [
        ("platform.yaml", ""),
        ("platform.json", ""),
        ("teams/ml.yaml", "ml"),
        ("ml.yaml", None),
        ("teams/a/b.yaml", None),
        ("others/ml.yaml", None),
    ],
)
def test_a_file_belongs_to_the_platform_or_to_a_team(name, team):
    assert team_of(Path(name)) == team
