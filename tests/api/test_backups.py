"""Reports of backups, by HTTP and by command; what the status says of them, and the facts for support."""

from __future__ import annotations

import io
import json
from datetime import UTC, datetime, timedelta

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from controlplane.access.models import AuditRecord
from controlplane.events.models import Event
from controlplane.identity.roles import Role
from controlplane.installation.models import Backup
from controlplane.scopes import Scope
from tests.support.api_client import Api, make_project, token_for

pytestmark = pytest.mark.django_db


def failing(api: Api) -> set[str]:
    return {check["name"] for check in api.get("meta").json()["checks"] if not check["is_good"]}


def test_without_a_report_nothing_is_overdue(api):
    body = api.get("meta").json()
    assert body["backup"] is None
    assert {"CpBackupOld"} <= {check["name"] for check in body["checks"] if check["is_good"]}


def test_a_report_is_shown_recorded_and_overdue_in_time(api):
    ended = datetime.now(UTC) - timedelta(hours=27)
    report = {"finished_at": ended.isoformat(), "size_bytes": 5, "location": "s3://backups/1.dump"}
    answer = api.post("backups", report)
    assert answer.status_code == 201, answer.json()
    shown = api.get("meta").json()["backup"]
    assert (shown["location"], shown["size_bytes"], shown["next_within_seconds"]) == (
        "s3://backups/1.dump",
        5,
        93600,
    )
    assert 3600 <= shown["overdue_seconds"] < 3700
    assert failing(api) == {"CpBackupOld"}
    assert AuditRecord.objects.filter(action="backup.reported").count() == 1
    assert Event.objects.filter(type="backup.reported").count() == 1

    assert api.post("backups", {}).status_code == 201
    assert failing(api) == set()
    # An older backup that is reported late is not the last one.
    assert api.post("backups", report).status_code == 201
    assert failing(api) == set()


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"finished_at": "2099-01-01T00:00:00Z"}, "/finished_at"),
        ({"finished_at": "yesterday"}, "/finished_at"),
        ({"size_bytes": -1}, "/size_bytes"),
        ({"size_bytes": 1 << 63}, "/size_bytes"),
        ({"next_within_seconds": 5}, "/next_within_seconds"),
        ({"location": "s3://key:planted@bucket"}, "/location"),
        ({"place": "x"}, "/place"),
    ],
)
def test_a_report_that_cannot_be_right_is_refused_and_changes_nothing(api, body, pointer):
    answer = api.post("backups", body)
    assert answer.status_code == 400
    assert [error["pointer"] for error in answer.json()["errors"]] == [pointer]
    assert "planted" not in answer.content.decode()
    assert not Backup.objects.exists()


def test_only_operators_report_and_a_dry_run_reports_nothing(api):
    assert Api(token_for(Role.VIEWER)).post("backups", {}).status_code == 403
    assert Api(token_for(Role.OPERATOR)).post("backups?dry_run=true", {}).status_code == 201
    assert not Backup.objects.exists()
    assert Api(token_for(Role.OPERATOR)).post("backups", {}).status_code == 201


def test_the_command_reports_too():
    out = io.StringIO()
    call_command(
        "backup_done", "--finished-at", "2026-11-25T01:00:00Z", "--next-within-seconds", "3600", stdout=out
    )
    assert (
        out.getvalue()
        == "Backup of 2026-11-25T01:00:00Z reported. The next is due by 2026-11-25T02:00:00Z.\n"
    )
    for wrong in (["--finished-at", "2026-11-25"], ["--location", "ftp://a:b@c"], ["--size-bytes", "x"]):
        with pytest.raises(CommandError):
            call_command("backup_done", *wrong)
    assert Backup.objects.count() == 1


def test_support_facts_are_for_administrators_of_everything(api):
    make_project("shop")
    for token in (token_for(Role.VIEWER), token_for(Role.ADMIN, scope=Scope(project="shop"))):
        assert Api(token).get("meta/support").status_code == 403
    facts = api.get("meta/support").json()
    values = {setting["name"]: setting for setting in facts["settings"]}
    assert values["DATABASE_URL"]["is_set"]
    assert values["DATABASE_URL"]["value"] is None
    assert any(table["name"].startswith("events_event_") for table in facts["tables"])
    assert facts["postgres"].startswith("18")


def test_the_short_address_is_a_page_for_people_and_a_document_for_programs():
    headers = {"Authorization": f"Bearer {token_for(Role.VIEWER)}", "Accept": "application/json"}
    answer = Client().get("/status", headers=headers)
    assert answer.status_code == 200
    assert set(json.loads(answer.content)) >= {"version", "members", "backlog", "checks"}
    assert "Accept" in answer["Vary"]
    assert Client().get("/status", headers={"Accept": "application/json"}).status_code == 401
    page = Client().get("/status", headers={"Accept": "text/html,application/json"})
    assert (page.status_code, page["Location"]) == (302, "/login?next=/status")
