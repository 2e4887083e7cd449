"""Plugin configurations, secrets, releases and archives by HTTP."""

from __future__ import annotations

import base64
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
import yaml

from controlplane.access import tokens
from controlplane.access.models import AuditRecord, Principal
from controlplane.access.role_bindings import BindingTerms, bind_role
from controlplane.access.teams.teams import create_team
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from plugin_store.lock_document import read_lock
from registry.plugin_releases import activation
from registry.plugin_releases.folder_source import FolderSource
from registry.plugin_releases.models import (
    InstallationState,
    PluginConfig,
    PluginNode,
    PluginRelease,
    PluginSecret,
    PluginSet,
)
from tests.support.api_client import ACTOR, Api, token_for
from tests.support.plugin_repository import PluginRepository, plugin_archive
from tests.support.plugin_sets import document, entry, stored

pytestmark = pytest.mark.django_db
REPOSITORY = PluginRepository("https://artifacts.example")
SECRET = "s3cr3t-of-the-provider"


@pytest.fixture(autouse=True)
def _store(settings: Any, tmp_path: Path) -> None:
    settings.PLUGIN_STORE = str(tmp_path / "store")


def content(image: str = "registry.example/bq:1.0", **provider: Any) -> dict[str, Any]:
    plugin = entry("web", "bq", "sha256:" + "a" * 64, config={"executor_image": image})
    return document(REPOSITORY, plugin, **provider)


def put(api: Api, written: Any = None, team: str = "", query: str = "", **headers: str) -> Any:
    text = yaml.safe_dump(content() if written is None else written)
    return api.put(f"plugin-config?team={team}{query}", {"text": text}, **headers)


def write(api: Api, **fields: Any) -> Any:
    answer = put(api, **fields)
    assert answer.status_code == 200, answer.json()
    return answer


def member(team: Any, role: Role = Role.EDITOR) -> Api:
    """A caller whose role is limited to the objects of a team."""
    token = token_for()
    principal = Principal.objects.get(tokens__digest=tokens.digest(token))
    bind_role(principal, role, Scope(), actor=ACTOR, terms=BindingTerms(owned_by=team))
    return Api(token)


def test_a_configuration_is_written_read_and_changed_with_its_etag(api):
    first = write(api, query="&change_message=first")
    assert first["ETag"] == '"v1"'
    got = api.get("plugin-config")
    assert got.json() == first.json()
    assert (got.json()["version"], got.json()["origin"], got.json()["message"]) == (1, "api", "first")
    assert api.get("plugin-config", If_None_Match='"v1"').status_code == 304

    assert put(api).json()["code"] == "version_required"
    assert put(api, If_Match='"v7"').json()["code"] == "version_mismatch"
    assert put(api, If_None_Match="*").status_code == 412
    changed = write(api, written=content("registry.example/bq:2.0"), If_Match='"v1"')
    assert changed.json()["version"] == 2
    versions = api.get("plugin-config/versions?limit=1").json()
    assert [item["version"] for item in versions["items"]] == [2]
    assert versions["next_cursor"]


def test_the_same_document_again_changes_nothing(api):
    write(api)
    normal = api.get("plugin-config").json()["document"]
    again = api.put("plugin-config", {"document": normal, "message": "same"}, If_Match='"v1"')
    assert (again.status_code, again.json()["version"]) == (200, 1)
    assert PluginConfig.objects.count() == 1


def test_a_dry_run_says_what_would_happen_and_stores_nothing(api):
    answer = write(api, query="&dry_run=true")
    assert (answer.json()["version"], answer["Dry-Run"]) == (1, "true")
    assert not PluginSet.objects.exists()
    write(api)
    release = api.post("plugin-releases?dry_run=true", {})
    assert release.json()["plugins"][0]["change"] == "downloaded"
    assert not PluginRelease.objects.exists()
    assert not AuditRecord.objects.filter(object_type="plugin_release").exists()


def test_every_mistake_is_named_with_its_place_and_nothing_is_stored(api):
    text = yaml.safe_dump(content()).replace("provider: web", "provider: wep").replace("path:", "paht:")
    answer = api.put("plugin-config", {"text": text})
    assert (answer.status_code, answer.json()["code"]) == (400, "invalid_request")
    errors = {error["code"]: error for error in answer.json()["errors"]}
    assert errors.keys() >= {"unknown_provider", "unknown_field"}
    assert all(error["line"] for error in errors.values())
    assert not PluginSet.objects.exists()


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"text": "a", "document": {}},
        {"text": "x" * ((1 << 20) + 1)},
        {"text": ["plugins"]},
        {"text": "plugins: [", "more": 1},
        {"document": []},
    ],
)
def test_bad_bodies_are_refused(api, body):
    assert api.put("plugin-config", body).status_code == 400
    assert not PluginSet.objects.exists()


def test_a_service_account_is_sealed_once_and_shown_nowhere(api):
    key = {"type": "service_account", "client_email": "a@b.example", "private_key": SECRET}
    account = base64.b64encode(json.dumps(key).encode()).decode()
    provider = {"type": "gcs", "name": "web", "bucket": "plugins", "service_account": account}
    written = content()
    written["plugins"]["providers"] = [provider]
    first = put(api, written)
    assert first.status_code == 200, first.json()
    assert "secretRef" in json.dumps(first.json()["document"])
    again = put(api, written, If_Match='"v1"')
    assert again.json()["version"] == 1
    assert PluginSecret.objects.get().version == 1
    shown = [
        first.content.decode(),
        str(list(PluginConfig.objects.values())),
        str(list(PluginSecret.objects.values())),
        str(list(AuditRecord.objects.values())),
        str(list(Event.objects.values())),
    ]
    assert not any(SECRET in text or account in text for text in shown)


def test_secrets_are_written_listed_by_name_and_deleted(api):
    answer = api.put("plugin-secrets/web-token", {"value": SECRET})
    assert (answer.status_code, answer.json()["version"]) == (200, 1)
    assert api.put("plugin-secrets/web-token", {"value": "other"}).json()["version"] == 2
    listed = api.get("plugin-secrets")
    assert [item["name"] for item in listed.json()["items"]] == ["web-token"]
    assert SECRET not in listed.content.decode() + answer.content.decode()
    assert api.put("plugin-secrets/Not%20a%20name", {"value": "x"}).status_code == 400
    assert api.delete("plugin-secrets/web-token").status_code == 204
    assert api.delete("plugin-secrets/web-token").json()["code"] == "unknown_plugin_secret"
    actions = set(AuditRecord.objects.filter(object_type="plugin_secret").values_list("action", flat=True))
    assert actions == {"plugin_secret.changed", "plugin_secret.deleted"}


def test_a_team_has_its_own_plugins_and_not_the_servers_identity(api):
    team = create_team("ml", actor=ACTOR)
    owner = member(team)
    refused = put(owner, content(auth={"type": "bearer", "env": "TOKEN"}), team="ml")
    assert refused.status_code == 400
    assert "a team must not use" in refused.json()["errors"][0]["message"]
    files = {"plugins": {"providers": [{"type": "file", "name": "web", "root": "/etc"}], "plugins": []}}
    assert "read files of the server" in put(owner, files, team="ml").json()["errors"][0]["message"]
    assert not PluginSet.objects.exists()

    # Without a name it is the only team of the caller.
    assert put(owner).json()["team"] == "ml"
    assert api.get("plugin-config").status_code == 404
    assert api.get("plugin-config?team=ml").json()["version"] == 1
    write(api, written=content(auth={"type": "bearer", "env": "TOKEN"}))


def test_what_belongs_to_another_team_does_not_exist(api):
    ours, theirs = (create_team(name, actor=ACTOR) for name in ("ours", "theirs"))
    release = stored(content(), theirs)
    activation.activate_ready(ACTOR)
    stranger = member(ours, Role.ADMIN)
    for path in (
        "plugin-config?team=theirs",
        "plugin-config/versions?team=theirs",
        "plugin-config/source?team=theirs",
        "plugin-config/lock?team=theirs",
        "plugin-secrets?team=theirs",
        "plugins?team=theirs",
        "plugins/bq?team=theirs",
        "plugins/bq/1.0.0?team=theirs",
        "plugins/bq/artifact?team=theirs",
        "plugin-releases?team=theirs",
        f"plugin-releases/{release.id}",
    ):
        assert stranger.get(path).status_code == 404, path
    for verb in ("activate", "rollback", "cancel"):
        assert stranger.post(f"plugin-releases/{release.id}:{verb}").status_code == 404
    assert put(stranger, team="theirs").status_code == 404
    assert stranger.post("plugin-releases?team=theirs", {}).status_code == 404
    assert stranger.get("plugin-releases").json()["items"] == []
    assert stranger.get("plugins").json()["items"] == []


def test_a_reader_may_not_write(api):
    write(api)
    viewer = Api(token_for(Role.VIEWER))
    assert viewer.get("plugin-config").status_code == 200
    for answer in (
        put(viewer, If_Match='"v1"'),
        viewer.put("plugin-secrets/x", {"value": "v"}),
        viewer.post("plugin-releases", {}),
    ):
        assert answer.status_code == 403
    assert Api().get("plugin-config").status_code == 401


def test_a_release_needs_a_configuration_and_valid_terms(api):
    assert api.post("plugin-releases", {}).json()["code"] == "unknown_plugin_config"
    write(api)
    for body in ({"min_active": 0}, {"activate": "soon"}, {"plugins": []}):
        assert api.post("plugin-releases", body).status_code == 400
    assert not PluginRelease.objects.exists()


def test_a_repeated_request_with_its_key_makes_one_release(api):
    write(api)
    first = api.post("plugin-releases", {"message": "why"}, Idempotency_Key="k1")
    assert (first.status_code, first.json()["message"]) == (201, "why")
    again = api.post("plugin-releases", {"message": "why"}, Idempotency_Key="k1")
    assert again.json()["id"] == first.json()["id"]
    assert PluginRelease.objects.count() == 1


def test_another_executor_image_is_a_release_with_nothing_to_download(api):
    stored(content())
    api.post(f"plugin-releases/{PluginRelease.objects.get().id}:activate")
    write(api, written=content("registry.example/bq:2.0"), If_Match="*")
    release = api.post("plugin-releases", {}).json()

    assert (release["state"], release["downloaded"]) == ("ready", 0)
    assert [plugin["change"] for plugin in release["plugins"]] == ["released"]
    same = api.post("plugin-releases", {}).json()
    assert same["number"] == release["number"] + 1
    assert api.get(f"plugin-releases/{release['id']}").json()["state"] == "superseded"


def test_a_plugin_that_is_left_out_is_named(api):
    stored(content())
    api.post(f"plugin-releases/{PluginRelease.objects.get().id}:activate")
    write(api, written=document(REPOSITORY), If_Match="*")

    assert api.post("plugin-releases", {}).json()["removed"] == ["bq"]


def test_releases_are_activated_rolled_back_and_canceled(api):
    first, second = stored(content()), None
    activate = api.post(f"plugin-releases/{first.id}:activate?change_message=go")
    assert (activate.status_code, activate.json()["state"]) == (200, "active")
    second = stored(content("registry.example/bq:2.0"), is_automatic=False)
    assert api.post(f"plugin-releases/{second.id}:rollback").json()["code"] == "release_not_usable"
    assert api.post(f"plugin-releases/{second.id}:activate").json()["state"] == "active"
    assert api.get(f"plugin-releases/{first.id}").json()["state"] == "superseded"
    back = api.post(f"plugin-releases/{first.id}:rollback")
    assert back.json()["state"] == "active"
    third = stored(content("registry.example/bq:3.0"))
    assert api.post(f"plugin-releases/{third.id}:cancel").json()["state"] == "failed"
    assert api.post(f"plugin-releases/{third.id}:cancel").status_code == 409
    assert api.post(f"plugin-releases/{third.id}:activate").status_code == 409
    absent = "019ab4c1-2000-7000-8000-000000000001"
    assert api.post(f"plugin-releases/{absent}:activate").json()["code"] == "unknown_plugin_release"
    actions = list(AuditRecord.objects.filter(object_type="plugin_release").values_list("action", flat=True))
    assert actions.count("plugin_release.activated") == 2
    assert actions.count("plugin_release.rolled_back") == 1
    assert actions.count("plugin_release.failed") == 1


def test_a_rollback_to_archives_that_are_gone_is_refused_and_a_release_fetches_them(api, settings, tmp_path):
    first = stored(content())
    api.post(f"plugin-releases/{first.id}:activate")
    second = stored(content("registry.example/bq:2.0"))
    api.post(f"plugin-releases/{second.id}:activate")
    settings.PLUGIN_STORE = str(tmp_path / "another")

    answer = api.post(f"plugin-releases/{first.id}:rollback")
    assert answer.status_code == 409
    assert "no longer in the content store" in answer.json()["detail"]
    assert PluginSet.objects.get().active_id == second.id
    release = api.post("plugin-releases", {}).json()
    assert (release["state"], release["plugins"][0]["change"]) == ("resolving", "downloaded")


def test_a_plugin_that_is_late_twice_keeps_what_it_runs_as(api):
    first = stored(content())
    api.post(f"plugin-releases/{first.id}:activate")
    running = first.plugins.get().artifact_id
    for number in (2, 3):
        changed = entry("web", "bq", "sha256:" + str(number) * 64)
        write(api, written=document(REPOSITORY, changed), If_Match="*")
        release = PluginRelease.objects.get(id=api.post("plugin-releases", {}).json()["id"])
        release.plugins.update(problem="It hangs.")
        PluginRelease.objects.filter(id=release.id).update(state="ready")
        api.post(f"plugin-releases/{release.id}:activate")
        assert release.plugins.get().fallback_id == running

    plugin = api.get("plugins/bq").json()
    assert (plugin["state"], plugin["version"], plugin["problem"]) == ("degraded", "1.0.0", "It hangs.")


def test_three_nodes_and_one_that_is_behind(api):
    for name in ("a", "b", "c"):
        activation.beat(name, "0.1.0")
    release = stored(content())
    for name in ("a", "b"):
        activation.report(name, release, InstallationState.VERIFIED, plugins={"bq": {"state": "active"}})
    activation.activate_ready(ACTOR)
    shown = api.get(f"plugin-releases/{release.id}").json()
    assert (shown["state"], shown["nodes_ready"], shown["nodes_required"]) == ("ready", 2, 3)
    assert shown["waiting_for"] == "2 of 3 nodes have it. It waits for c."

    PluginNode.objects.filter(name="c").update(seen_at="2026-01-01T00:00:00Z")
    activation.activate_ready(ACTOR)
    shown = api.get(f"plugin-releases/{release.id}").json()
    assert (shown["state"], shown["waiting_for"]) == ("active", "")
    (plugin,) = api.get("plugins").json()["items"]
    assert (plugin["nodes_ready"], plugin["nodes_live"], plugin["jobs"]) == (2, 2, 0)
    assert plugin["image"] == "registry.example/bq:1.0"
    nodes = api.get("plugin-nodes").json()["items"]
    assert [(node["name"], node["live"]) for node in nodes] == [("a", True), ("b", True), ("c", False)]


def test_without_a_live_node_nothing_becomes_active_and_the_release_says_why(api):
    release = stored(content())
    activation.activate_ready(ACTOR)
    shown = api.get(f"plugin-releases/{release.id}").json()
    assert shown["state"] == "ready"
    assert "manage.py plugin_installer" in shown["waiting_for"]


def test_the_lock_is_what_clients_install_and_has_an_etag(api):
    assert api.get("plugin-config/lock").json()["code"] == "unknown_plugin_release"
    release = stored(content())
    api.post(f"plugin-releases/{release.id}:activate")
    answer = api.get("plugin-config/lock")
    lock = read_lock(json.dumps(answer.json()).encode())
    assert [plugin.sha256 for plugin in lock.plugins] == [hashlib.sha256(plugin_archive("bq")).hexdigest()]
    assert api.get("plugin-config/lock", If_None_Match=answer["ETag"]).status_code == 304
    other = stored(content("registry.example/bq:2.0"))
    api.post(f"plugin-releases/{other.id}:activate")
    assert api.get("plugin-config/lock", If_None_Match=answer["ETag"]).status_code == 200


def test_an_archive_is_sent_whole_in_part_and_only_if_it_is_the_one(api):
    release = stored(content())
    api.post(f"plugin-releases/{release.id}:activate")
    archive = plugin_archive("bq")
    sha256 = hashlib.sha256(archive).hexdigest()
    path = f"plugins/bq/artifact?sha256={sha256}"
    whole = api.get(path)
    assert b"".join(whole.streaming_content) == archive
    assert whole["ETag"] == f'"{sha256}"'
    digest = base64.b64encode(hashlib.sha256(archive).digest()).decode()
    assert whole["Repr-Digest"] == f"sha-256=:{digest}:"

    part = api.get(path, Range="bytes=10-", If_Range=f'"{sha256}"')
    assert (part.status_code, b"".join(part.streaming_content)) == (206, archive[10:])
    assert part["Content-Range"] == f"bytes 10-{len(archive) - 1}/{len(archive)}"
    assert api.get(path, Range="bytes=10-", If_Range='"another"').status_code == 200
    assert api.get(path, Range=f"bytes={len(archive)}-").status_code == 416
    assert api.get(path, If_None_Match=f'"{sha256}"').status_code == 304
    other = api.get(f"plugins/bq/artifact?sha256={'0' * 64}")
    assert (other.status_code, other.json()["code"]) == (404, "unknown_plugin_artifact")
    assert api.get("plugins/bq/artifact?sha256=../../x").status_code == 404
    assert api.get("plugins/dbt/artifact").json()["code"] == "unknown_plugin"


def test_an_archive_that_is_gone_is_404_and_not_an_empty_file(api, settings, tmp_path):
    release = stored(content())
    api.post(f"plugin-releases/{release.id}:activate")
    settings.PLUGIN_STORE = str(tmp_path / "another")
    answer = api.get("plugins/bq/artifact")
    assert (answer.status_code, answer.json()["code"]) == (404, "unknown_plugin_artifact")


def test_a_version_is_found_after_another_one_became_active(api):
    for version in ("1.0.0", "2.0.0"):
        plugin = entry("web", "bq", version=version, checksum="sha256:" + version[0] * 64)
        release = stored(document(REPOSITORY, plugin))
        api.post(f"plugin-releases/{release.id}:activate")
    assert api.get("plugins/bq").json()["version"] == "2.0.0"
    assert api.get("plugins/bq/1.0.0").json()["release_number"] == 1
    assert api.get("plugins/bq/9.9.9").json()["code"] == "unknown_plugin"


def test_the_api_says_what_is_wrong_with_the_files_and_refuses_writes(api, settings, tmp_path):
    assert api.get("plugin-config/source").json()["state"] == "off"
    team = create_team("ml", actor=ACTOR)
    (tmp_path / "files/teams").mkdir(parents=True)
    (tmp_path / "files/platform.yaml").write_text(yaml.safe_dump(content()))
    (tmp_path / "files/teams/ml.yaml").write_text("plugins: [")
    settings.PLUGIN_CONFIG_PATH = str(tmp_path / "files")
    FolderSource("node-a", settled_seconds=0).refresh()

    refused = put(api, If_Match="*")
    assert (refused.status_code, refused.json()["code"]) == (409, "source_is_read_only")
    shown = api.get("plugin-config/source").json()
    assert (shown["origin"], shown["state"], shown["reader"]) == ("folder", "failing", "node-a")
    assert [problem["team"] for problem in shown["problems"]] == ["ml"]
    theirs = member(team).get("plugin-config/source").json()
    assert (theirs["origin"], theirs["state"], theirs["path"], theirs["reader"]) == ("api", "failing", "", "")
    assert theirs["problems"][0]["line"]
