"""Waits, streams and snapshots of effective values, as Django answers them."""

from __future__ import annotations

import json

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat, PublicFormat

from controlplane.scopes import Scope
from cpctl.portable.snapshots import SnapshotRefused, read_snapshot
from tests.support.api_client import Api, make_project, token_for

DEV = {"project": "flytesnacks", "domain": "development"}
READ = "overrides/effective?project=flytesnacks&domain=development"
SETS = ("overrides/effective:stream", "overrides/effective:snapshot")


@pytest.fixture
def filled(api):
    make_project()
    path = "overrides/task_resource?project=flytesnacks&domain=development"
    assert api.put(path, {"attributes": {"limits": {"cpu": "1"}}}).status_code == 201
    return api


@pytest.mark.parametrize(
    ("query", "pointer"),
    [("wait=x", "?wait"), ("wait=-1", "?wait"), ("wait=61", "?wait"), ("wait=1&as_of=0", "?wait")],
)
def test_a_wait_that_makes_no_sense_is_refused(filled, query, pointer):
    answer = filled.get(f"{READ}&{query}")

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, pointer)


@pytest.mark.parametrize("path", SETS)
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "invalid_request"),
        ({"scopes": []}, 400, "invalid_request"),
        ({"scopes": [{}] * 1001}, 400, "invalid_request"),
        ({"scopes": "all"}, 400, "invalid_request"),
        ({"scopes": [{"projct": "x"}]}, 400, "invalid_request"),
        ({"scopes": [{"workflow": "w"}]}, 422, "invalid_scope"),
        ({"scopes": [{"project": "flytesnakcs"}]}, 404, "unknown_project"),
        ({"scopes": [{"domain": "nowhere"}]}, 404, "unknown_domain"),
        ({"scopes": [{}], "resource_type": "task_resorce"}, 404, "unknown_resource_type"),
    ],
)
def test_bad_sets_of_scopes_are_refused(filled, path, body, status, code):
    answer = filled.post(path, body)

    assert (answer.status_code, answer.json()["code"]) == (status, code)


@pytest.mark.parametrize("path", SETS)
def test_who_may_not_read_one_scope_gets_nothing(filled, path):
    make_project("mine")
    reader = Api(token_for("viewer", scope=Scope(project="mine")))

    assert reader.post(path, {"scopes": [{"project": "mine"}]}).status_code == 200
    for project in ("flytesnacks", "nothing"):
        assert reader.post(path, {"scopes": [{"project": "mine"}, {"project": project}]}).status_code == 403
    assert Api().post(path, {"scopes": [{}]}).status_code == 401


def events(answer) -> list[tuple[str, dict]]:
    blocks = [block.split("\n") for block in answer.content.decode().split("\n\n") if block]
    return [
        (block[-2].removeprefix("event: "), json.loads(block[-1].removeprefix("data: "))) for block in blocks
    ]


def test_a_stream_names_each_scope_once_and_ends_with_a_bookmark(filled):
    answer = filled.post("overrides/effective:stream", {"scopes": [DEV, {}, DEV]})

    assert answer["Content-Type"] == "text/event-stream; charset=utf-8"
    assert "X-Controlplane-Watch" not in answer
    assert [name for name, _ in events(answer)] == ["effective", "effective", "bookmark"]


@pytest.mark.parametrize("last_event_id", ["x", "-1", "1.5", "9" * 19])
def test_an_id_that_no_bookmark_has_is_refused(filled, last_event_id):
    answer = filled.post("overrides/effective:stream", {"scopes": [{}]}, Last_Event_ID=last_event_id)

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "header:Last-Event-ID")


def test_a_stream_that_is_resumed_has_only_what_changed(filled):
    body = {"scopes": [DEV, {"domain": "production"}]}
    (_, bookmark) = events(filled.post("overrides/effective:stream", body))[-1]
    seen = str(bookmark["revision"])
    filled.put("overrides/task_resource?domain=production", {"attributes": {"limits": {"cpu": "3"}}})

    changed = events(filled.post("overrides/effective:stream", body, Last_Event_ID=seen))[:-1]

    assert [data["scope"]["domain"] for _, data in changed] == ["production"]


@pytest.fixture
def public(tmp_path, settings):
    """Signs snapshots with a new key; its public half."""
    private = Ed25519PrivateKey.generate()
    file = tmp_path / "key.pem"
    file.write_bytes(private.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
    settings.AGENT_CONFIGS_SIGNING_KEYS = [str(file)]
    return private.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo)


def test_a_snapshot_has_the_values_of_each_scope(filled, public):
    answer = filled.post("overrides/effective:snapshot", {"scopes": [DEV, {}, DEV]})

    snapshot = read_snapshot(answer.content, [public])
    assert snapshot.effective(DEV, "task_resource") == {"limits": {"cpu": "1"}}
    assert snapshot.effective({}, "task_resource") == {}
    assert snapshot.revision == filled.get("overrides/revisions").json()["items"][0]["revision"]
    assert (snapshot.expires_at - snapshot.created_at).days == 1


def test_snapshots_and_streams_have_the_same_items(filled, public):
    body = {"scopes": [{}, DEV]}
    snapshot = read_snapshot(filled.post("overrides/effective:snapshot", body).content, [public])
    streamed = events(filled.post("overrides/effective:stream", body))[:-1]

    assert [data for _, data in streamed] == list(snapshot.items.values())


def test_without_keys_a_snapshot_is_not_signed(filled):
    answer = filled.post("overrides/effective:snapshot", {"scopes": [{}]})

    assert answer.json()["signatures"] == []
    with pytest.raises(SnapshotRefused):
        read_snapshot(answer.content, [])


@pytest.mark.parametrize("seconds", [59, 2_592_001, "60", True, None])
def test_how_long_a_snapshot_can_be_used_is_limited(filled, seconds):
    answer = filled.post("overrides/effective:snapshot", {"scopes": [{}], "valid_seconds": seconds})

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "/valid_seconds")
