"""Freezes through HTTP: what they refuse, who overrides them, and who sees them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.scopes import Scope
from overrides.freeze_models import OverrideFreeze
from overrides.models import Override, OverrideVersion
from tests.support.api_client import Api, make_project, token_for

WEC = "overrides/workflow_execution_config"
HERE = "project=flytesnacks&domain=production"
ATTRIBUTES = {"attributes": {"max_parallelism": 10}}
CHANGED = {"attributes": {"max_parallelism": 20}}
DOCUMENT = {
    "project": "flytesnacks",
    "domain": "production",
    "overrides": {"workflowExecutionConfig": {"maxParallelism": 20}},
}


def later(hours: float = 1) -> str:
    return (datetime.now(UTC) + timedelta(hours=hours)).isoformat()


def freeze(api: Api, **scope: str) -> Any:
    body = {"scope": scope, "ends_at": later(), "reason": "Black Friday"}
    return api.post("override-freezes", body)


def trace() -> tuple[int, int, int]:
    return (OverrideVersion.objects.count(), AuditRecord.objects.count(), Event.objects.count())


@pytest.fixture(autouse=True)
def _world(api: Api) -> None:
    make_project()
    api.put(f"{WEC}?{HERE}", ATTRIBUTES)


@pytest.fixture
def editor(db) -> Api:
    return Api(token_for("editor"))


def test_a_freeze_is_declared_with_an_audit_row_and_an_event(api):
    answer = freeze(api, domain="production")

    shown = answer.json()
    assert (answer.status_code, answer["ETag"], shown["state"]) == (201, '"v1"', "active")
    assert (shown["scope"]["domain"], shown["reason"]) == ("production", "Black Friday")
    row = AuditRecord.objects.get(object_type="override_freeze")
    assert (row.action, row.object_id, row.domain) == ("override_freeze.declared", shown["id"], "production")
    assert Event.objects.get(object_type="override_freeze").type == "override_freeze.declared"


WRITES = {
    "put": lambda api, more: api.put(f"{WEC}?{HERE}{more}", CHANGED, If_Match='"v1"'),
    "patch": lambda api, more: api.patch(f"{WEC}?{HERE}{more}", CHANGED),
    "delete": lambda api, more: api.delete(f"{WEC}?{HERE}{more}", If_Match='"v1"'),
    "apply": lambda api, more: api.post(f"overrides:apply?{more}", {"documents": [DOCUMENT]}),
    "document": lambda api, more: api.put(
        f"overrides/document?{HERE}{more}",
        DOCUMENT,
        If_Match=api.get(f"overrides/document?{HERE}")["ETag"],
    ),
    "rollback": lambda api, more: api.post(f"overrides:rollback?{HERE}{more}", {"to_revision": 0}),
    "import": lambda api, more: api.post(
        f"overrides:import?{more}",
        {"flytectl_files": {"wec.yaml": "project: flytesnacks\ndomain: production\nmax_parallelism: 20\n"}},
    ),
}


@pytest.mark.parametrize("write", WRITES)
def test_every_kind_of_write_is_refused_a_dry_run_says_so_and_an_override_passes(api, write):
    freeze(api, domain="production")
    before = trace()
    force = "&force=true" if write in ("apply", "rollback") else ""

    refused = WRITES[write](api, "")
    tried = WRITES[write](api, "&dry_run=true")

    assert (refused.status_code, refused.json()["code"]) == (409, "change_frozen"), refused.json()
    assert refused.json()["freezes"][0]["reason"] == "Black Friday"
    assert "until" in refused.json()["detail"]
    assert tried.status_code < 300, tried.json()
    plan = {} if write == "delete" else tried.json()
    told = tried.headers.get("Change-Frozen") or plan.get("plan", plan).get("frozen_by")
    assert told
    assert trace() == before
    passed = WRITES[write](api, f"&override_freeze=Fire{force}")
    assert passed.status_code < 300, passed.json()
    assert OverrideVersion.objects.count() == before[0] + 1


def test_an_override_of_a_freeze_is_recorded_with_its_reason(api):
    frozen = freeze(api, domain="production").json()

    api.patch(f"{WEC}?{HERE}&override_freeze=Fire+in+the+hall", CHANGED)

    row = AuditRecord.objects.get(action="override_freeze.overridden")
    assert (row.object_id, row.reason) == (frozen["id"], "Fire in the hall")
    assert row.after["revision"] == Override.objects.get().revision
    assert AuditRecord.objects.get(action="override.updated").reason == "Fire in the hall"
    assert Event.objects.filter(type="override_freeze.overridden").count() == 1


def test_nobody_overrides_without_the_permission_at_the_scope_of_the_freeze(api, editor):
    freeze(api, domain="production")
    below = Api(token_for("admin", scope=Scope("production", "flytesnacks")))
    before = trace()

    refused = editor.patch(f"{WEC}?{HERE}&override_freeze=Fire", CHANGED)
    too_low = below.patch(f"{WEC}?{HERE}&override_freeze=Fire", CHANGED)

    assert (refused.status_code, refused.json()["code"]) == (403, "permission_denied")
    assert (too_low.status_code, too_low.json()["code"]) == (409, "change_frozen")
    assert "you need freeze.override at domain=production" in too_low.json()["detail"]
    assert trace()[0] == before[0]


def test_a_freeze_holds_neither_scopes_above_nor_beside_it_nor_what_changes_nothing(api):
    freeze(api, domain="production")

    assert api.put(WEC, ATTRIBUTES).status_code == 201
    assert api.put(f"{WEC}?project=flytesnacks", ATTRIBUTES).status_code == 201
    assert api.put(f"{WEC}?project=flytesnacks&domain=staging", ATTRIBUTES).status_code == 201
    assert api.patch(f"{WEC}?{HERE}", ATTRIBUTES).status_code == 200


def test_upcoming_and_ended_freezes_hold_nothing(api):
    body = {"starts_at": later(1), "ends_at": later(2), "reason": "Sale"}
    upcoming = api.post("override-freezes", body).json()
    active = freeze(api).json()

    ended = api.post(f"override-freezes/{active['id']}:end?change_message=Quiet")

    assert (upcoming["state"], ended.json()["state"], ended.json()["version"]) == ("upcoming", "ended", 2)
    assert api.patch(f"{WEC}?{HERE}", CHANGED).status_code == 200
    states = {
        state: [item["id"] for item in api.get(f"override-freezes?state={state}").json()["items"]]
        for state in ("upcoming", "active", "ended")
    }
    assert states == {"upcoming": [upcoming["id"]], "active": [], "ended": [active["id"]]}
    again = api.post(f"override-freezes/{active['id']}:end")
    assert (again.status_code, again.json()["code"]) == (409, "conflict")
    assert AuditRecord.objects.get(action="override_freeze.ended").reason == "Quiet"


def test_a_freeze_is_changed_by_version(api):
    path = f"override-freezes/{freeze(api).json()['id']}"

    stale = api.patch(path, {"reason": "Longer"}, If_Match='"v7"')
    moved = api.patch(path, {"starts_at": later(-1)})
    changed = api.patch(path, {"reason": "Longer"}, If_Match='"v1"')

    assert (stale.status_code, moved.status_code) == (412, 400)
    assert moved.json()["errors"][0]["pointer"] == "/starts_at"
    assert (changed.status_code, changed["ETag"], changed.json()["reason"]) == (200, '"v2"', "Longer")
    assert api.get(path)["ETag"] == '"v2"'


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"reason": "x"}, "/ends_at"),
        ({"ends_at": "2020-01-01T00:00:00Z", "reason": "x"}, "/ends_at"),
        ({"ends_at": "tomorrow", "reason": "x"}, "/ends_at"),
        ({"ends_at": "2999-01-01T00:00:00Z", "reason": ""}, "/reason"),
        ({"ends_at": "2999-01-01T00:00:00Z", "reason": "x", "until": 1}, "/until"),
        (
            {"starts_at": "2999-01-02T00:00:00Z", "ends_at": "2999-01-01T00:00:00Z", "reason": "x"},
            "/ends_at",
        ),
    ],
)
def test_bad_input_declares_nothing(api, body, pointer):
    answer = api.post("override-freezes", body)

    assert answer.status_code in (400, 422)
    assert pointer in [error["pointer"] for error in answer.json()["errors"]]
    assert not OverrideFreeze.objects.exists()


def test_who_may_declare_and_where(api, editor):
    local = Api(token_for("admin", scope=Scope("", "flytesnacks")))

    assert freeze(editor, project="flytesnacks").status_code == 403
    assert freeze(local).status_code == 403
    assert freeze(local, project="flytesnacks").status_code == 201
    assert freeze(api, project="nowhere").json()["code"] == "unknown_project"


def test_what_a_caller_may_not_read_does_not_exist(api):
    make_project("secret")
    hidden = freeze(api, project="secret").json()["id"]
    above = freeze(api, domain="production").json()["id"]
    local = Api(token_for("admin", scope=Scope("", "flytesnacks")))

    assert [item["id"] for item in local.get("override-freezes").json()["items"]] == [above]
    for answer in (
        local.get(f"override-freezes/{hidden}"),
        local.patch(f"override-freezes/{hidden}", {"reason": "mine"}),
        local.post(f"override-freezes/{hidden}:end"),
    ):
        assert (answer.status_code, answer.json()["code"]) == (404, "unknown_override_freeze")
    assert local.post(f"override-freezes/{above}:end").status_code == 403


def test_flytes_clients_get_the_refusal_in_their_own_format(api):
    freeze(api, domain="production")
    attributes = {"workflowExecutionConfig": {"maxParallelism": 20}}
    body = {"attributes": {"matchingAttributes": attributes}}

    answer = api.put("project_domain_attributes/flytesnacks/production", body)

    assert answer.status_code == 400
    assert answer.json()["code"] == 9
    assert "froze overrides at domain=production until" in answer.json()["message"]
    assert Override.objects.get().attributes == ATTRIBUTES["attributes"]
