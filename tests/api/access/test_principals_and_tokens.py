"""Principals, tokens, roles: given, used, taken away, and never leaking."""

import json
from datetime import UTC, datetime, timedelta

import pytest

from controlplane.access.models import AuditRecord, Principal, Token
from controlplane.api.models import IdempotencyKey
from controlplane.events.models import Event
from controlplane.scopes import Scope
from tests.support.api_client import Api, make_principal, make_project, token_for


def test_me_tells_who_i_am_and_what_i_have(db):
    me = Api(token_for("editor", scope=Scope(project="ads"))).get("me").json()

    assert me["kind"] == "service"
    assert [(grant["role"], grant["scope"]["project"]) for grant in me["grants"]] == [("editor", "ads")]


def test_can_i_answers_with_its_reason(db):
    editor = Api(token_for("editor", scope=Scope(project="ads")))

    yes = editor.post("me:can-i", {"action": "override.write", "scope": {"project": "ads"}}).json()
    no = editor.post("me:can-i", {"action": "override.write"}).json()

    assert yes["allowed"]
    assert "editor" in yes["reason"]
    assert not no["allowed"]
    assert "editor, admin" in no["reason"]


def test_a_service_from_nothing_to_its_first_write_and_back(api):
    make_project("ads")
    api.post("principals", {"name": "ci", "kind": "service"})
    made = api.post("tokens", {"name": "laptop", "principal": "ci"}).json()
    service = Api(made["token"])

    assert service.post("scopes/projects", {"id": "x"}).status_code == 403
    bound = api.post(
        "role-bindings", {"principal": "ci", "role": "editor", "scope": {"project": "ads"}}
    ).json()
    assert service.put("overrides/task_resource?project=ads", {"attributes": {}}).status_code == 201
    api.delete(f"role-bindings/{bound['id']}")
    assert service.get("overrides/task_resource?project=ads").status_code == 403
    api.delete(f"tokens/{made['id']}")
    assert service.get("me").status_code == 401


def test_a_secret_is_shown_once_and_stored_nowhere(api):
    secret = api.post("tokens", {"name": "mine"}, Idempotency_Key="k1").json()["token"]

    again = api.post("tokens", {"name": "mine"}, Idempotency_Key="k1")

    assert again["Idempotent-Replayed"] == "true"
    assert again.json()["token"] is None
    assert Token.objects.filter(name="mine").count() == 1
    for model in (Token, AuditRecord, Event, IdempotencyKey):
        assert secret not in json.dumps(list(model.objects.values()), default=str)
    assert secret not in api.get("tokens").content.decode()


def test_a_token_ends_when_it_was_said_to(api):
    future = (datetime.now(UTC) + timedelta(hours=1)).isoformat()

    ended, good = (
        api.post("tokens", {"name": name, "expires_at": future}).json()["token"] for name in ("a", "b")
    )
    Token.objects.filter(name="a").update(expires_at=datetime.now(UTC) - timedelta(seconds=1))

    assert Api(ended).get("me").status_code == 401
    assert Api(good).get("me").status_code == 200


def test_nobody_makes_reads_or_revokes_the_tokens_of_others(api):
    victim = make_principal("admin", name="victim")
    token_id = api.post("tokens", {"name": "x", "principal": "victim"}).json()["id"]
    editor = Api(token_for("editor"))

    assert editor.post("tokens", {"name": "y", "principal": "victim"}).status_code == 403
    assert editor.get("tokens?principal=victim").status_code == 403
    assert editor.delete(f"tokens/{token_id}").status_code == 404
    assert Token.objects.filter(principal=victim, revoked_at=None).count() == 1


def test_a_principal_that_is_switched_off_is_out_at_once(api):
    principal = make_principal("viewer", name="leaver")
    token = api.post("tokens", {"name": "x", "principal": "leaver"}).json()["token"]

    api.patch(f"principals/{principal.name}", {"is_active": False})

    assert Api(token).get("me").status_code == 401


def test_the_last_administrator_cannot_be_removed_or_switched_off(api):
    (binding,) = api.get("role-bindings").json()["items"]

    removed = api.delete(f"role-bindings/{binding['id']}")
    switched_off = api.patch(f"principals/{binding['principal']}", {"is_active": False})

    assert {removed.status_code, switched_off.status_code} == {409}
    assert removed.json()["code"] == "last_administrator"
    assert api.get("principals").status_code == 200
    assert Principal.objects.get(name=binding["principal"]).is_active


@pytest.mark.parametrize("name", ["", "a b", "-a", "a/b", "x" * 64, "ä"])
def test_a_name_that_would_be_trouble_is_refused(api, name):
    assert api.post("principals", {"name": name, "kind": "service"}).status_code == 400


def test_a_name_is_taken_once(api):
    api.post("principals", {"name": "ci", "kind": "service"})

    again = api.post("principals", {"name": "ci", "kind": "service"})

    assert (again.status_code, again.json()["code"]) == (409, "name_taken")


@pytest.mark.parametrize(("kind", "password"), [("person", "short"), ("service", "long enough to use")])
def test_a_password_must_be_good_and_a_persons(api, kind, password):
    assert api.post("principals", {"name": "joe", "kind": kind, "password": password}).status_code == 400


def test_the_audit_log_is_read_by_administrators_only(api):
    make_project("ads")

    audit = api.get("audit?object_type=project").json()["items"]

    assert [record["action"] for record in audit] == ["project.created"]
    assert Api(token_for("editor")).get("audit").status_code == 403


def test_anonymous_reading_is_off_unless_the_operator_turns_it_on(db, settings):
    assert Api().get("resource-types").status_code == 401

    settings.ANONYMOUS_READ = True

    assert Api().get("overrides").status_code == 200
    assert Api().get("principals").status_code == 403
    assert Api().post("scopes/projects", {"id": "x"}).status_code == 401
