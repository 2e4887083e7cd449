"""The frame of every mutation: audited, idempotent, all or nothing."""

import threading

import pytest
from django.apps import apps
from django.db import connection
from django.test import Client

from controlplane.access.models import AuditRecord, Token
from controlplane.api.idempotency import purge
from controlplane.api.models import IdempotencyKey
from controlplane.events.models import Event
from overrides.models import Project
from tests.support.api_client import AGENT, Api, make_principal, token_for

MUTATIONS = [
    ("POST", "scopes/projects", {"id": "ads"}),
    ("POST", "scopes/domains", {"id": "qa"}),
    ("PUT", "overrides/task_resource", {"attributes": {}}),
    ("POST", "principals", {"name": "ci", "kind": "service"}),
    ("POST", "tokens", {"name": "x"}),
    ("POST", "role-bindings", {"principal": "guest", "role": "viewer"}),
    ("PATCH", "principals/guest", {"is_active": False}),
    ("POST", "agents", AGENT),
]


def all_rows():
    """Everything that our own tables hold, but for when a token was used."""
    ours = {"access", "api", "events", "overrides", "registry"}
    return {
        model._meta.label: [
            {name: value for name, value in row.items() if name != "last_used_at"}
            for row in model.objects.order_by("pk").values()
        ]
        for model in apps.get_models()
        if model._meta.app_label in ours
    }


@pytest.fixture(autouse=True)
def _guest(db):
    make_principal(name="guest")


@pytest.mark.parametrize(("method", "path", "body"), MUTATIONS)
def test_a_mutation_leaves_one_audit_row_and_one_event_with_its_request_id(api, method, path, body):
    answer = api(method, path, body, X_Request_ID="req-1")

    assert answer.status_code in (200, 201)
    (row,) = AuditRecord.objects.filter(request_id="req-1")
    (event,) = Event.objects.filter(request_id="req-1")
    assert row.action == event.type
    assert row.after is not None


@pytest.mark.parametrize(("method", "path", "body"), MUTATIONS)
def test_without_an_audit_row_there_is_no_write(api, method, path, body):
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE access_auditrecord ADD CONSTRAINT disk_full CHECK (id < 0) NOT VALID")
    before = all_rows()

    answer = api(method, path, body)

    assert (answer.status_code, answer.json()["code"]) == (500, "internal_error")
    assert "access_auditrecord" not in answer.content.decode()
    assert all_rows() == before


@pytest.mark.parametrize(("method", "path", "body"), MUTATIONS)
def test_a_dry_run_keeps_nothing(api, method, path, body):
    before = all_rows()

    answer = api(method, f"{path}?dry_run=true", body)

    assert answer.status_code in (200, 201)
    assert all_rows() == before


VERSIONED = [
    ("overrides/task_resource", {"attributes": {"defaults": {"cpu": "2"}}}),
    (
        "guard-rails/cap",
        {
            "name": "cap",
            "resource_type": "task_resource",
            "pointer": "/limits/cpu",
            "rule": {"maximum": "64"},
        },
    ),
    ("data-planes/eu", {}),
    ("pools/gpus", {"capacity": 8}),
]


@pytest.mark.parametrize(("path", "body"), VERSIONED)
@pytest.mark.parametrize("method", ["PUT", "DELETE"])
def test_a_dry_run_needs_no_version_and_a_change_does(api, path, body, method):
    assert api.put(path, body).status_code in (200, 201)
    before = all_rows()
    sent = body if method == "PUT" else None

    dry, real = api(method, f"{path}?dry_run=true", sent), api(method, path, sent)
    stale = api(method, f"{path}?dry_run=true", sent, If_Match='"v99"')

    assert (dry.status_code, dry["Dry-Run"]) in ((200, "true"), (204, "true"))
    assert (real.status_code, real.json()["code"]) == (428, "version_required")
    # A version that is named is checked, so that a script finds out before it changes anything.
    assert (stale.status_code, stale.json()["code"]) == (412, "version_mismatch")
    assert all_rows() == before


def test_each_problem_names_its_page(api, settings):
    settings.PUBLIC_URL = "https://cp.example.com"

    for missing in (api.get("scopes/projects/nope"), api.get("nope")):
        document = missing.json()
        assert document["docs_url"] == f"https://cp.example.com/problems/{document['code']}"
        page = Client().get(document["docs_url"].removeprefix("https://cp.example.com"))
        assert page.json()["code"] == document["code"]


def test_the_same_key_has_one_effect_and_the_same_answer(api):
    first = api.post("scopes/projects", {"id": "ads"}, Idempotency_Key="k")
    again = api.post("scopes/projects", {"id": "ads"}, Idempotency_Key="k")

    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert again["Idempotent-Replayed"] == "true"
    assert again["Location"] == first["Location"]
    assert "Idempotent-Replayed" not in first


def test_the_same_key_with_another_body_is_refused(api):
    api.post("scopes/projects", {"id": "ads"}, Idempotency_Key="k")

    other = api.post("scopes/projects", {"id": "billing"}, Idempotency_Key="k")

    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert not Project.objects.filter(id="billing").exists()


@pytest.mark.parametrize("query", ["managed_by=git", "", "managed_by=team&prune=true"])
def test_the_same_key_and_body_with_another_query_are_refused(api, query):
    spec = {"taskResources": {"defaults": {"cpu": "2"}}}
    document = {"apiVersion": 1, "kind": "overrides", "domain": "staging", "spec": spec}
    first = api.post("overrides:apply?managed_by=team", {"documents": [document]}, Idempotency_Key="k")
    assert first.status_code == 200
    before = all_rows()

    other = api.post(f"overrides:apply?{query}", {"documents": [document]}, Idempotency_Key="k")
    again = api.post("overrides:apply?managed_by=team", {"documents": [document]}, Idempotency_Key="k")

    assert (other.status_code, other.json()["code"]) == (422, "idempotency_key_reused")
    assert "query" in other.json()["detail"]
    assert (again.status_code, again["Idempotent-Replayed"]) == (200, "true")
    assert all_rows() == before


def test_a_dry_run_does_not_use_the_key_up(api):
    dry = api.post("scopes/projects?dry_run=true", {"id": "ads"}, Idempotency_Key="k")
    real = api.post("scopes/projects", {"id": "ads"}, Idempotency_Key="k")

    assert (dry.status_code, real.status_code) == (201, 201)
    assert "Idempotent-Replayed" not in real


def test_a_key_belongs_to_its_principal(api):
    api.post("scopes/projects", {"id": "ads"}, Idempotency_Key="k")

    assert (
        Api(token_for("admin")).post("scopes/projects", {"id": "b"}, Idempotency_Key="k").status_code == 201
    )


def test_an_error_is_not_kept(api):
    refused = api.post("scopes/projects", {"id": "A B"}, Idempotency_Key="k")
    good = api.post("scopes/projects", {"id": "ads"}, Idempotency_Key="k")

    assert (refused.status_code, good.status_code) == (400, 201)


@pytest.mark.parametrize("key", ["", "a b", "x" * 256, "é"])
def test_a_malformed_key_is_refused(api, key):
    assert api.post("scopes/projects", {"id": "ads"}, Idempotency_Key=key).status_code == 400


def test_keys_are_forgotten_after_a_day(api):
    api.post("scopes/projects", {"id": "ads"}, Idempotency_Key="k")
    assert purge() == 0

    IdempotencyKey.objects.update(created_at="2020-01-01T00:00:00Z")

    assert purge() == 1


@pytest.mark.django_db(transaction=True)
def test_many_requests_with_one_key_at_once_have_one_effect():
    token = token_for("admin")
    statuses = []
    start = threading.Barrier(8)

    def ask():
        from django.db import connection

        start.wait()
        # Two tokens of one name are legal: only the key stands between one effect and eight.
        statuses.append(Api(token).post("tokens", {"name": "ads"}, Idempotency_Key="k").status_code)
        connection.close()

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert set(statuses) <= {201, 409}
    assert 201 in statuses
    assert Token.objects.filter(name="ads").count() == 1
    assert Event.objects.filter(type="token.created", actor__startswith="admin").count() == 1
