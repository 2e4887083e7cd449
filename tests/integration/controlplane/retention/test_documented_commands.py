"""The commands of docs/guides/retention.md run as printed, and the worker's role suffices for a round."""

from __future__ import annotations

import re
import shlex
from datetime import UTC, datetime
from io import StringIO

import pytest
from django.core.management import call_command
from django.db import connection

from controlplane.database import roles
from controlplane.database.clock import statement_now
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.observability.metrics import exposition
from controlplane.retention import tasks
from tests.support.paths import ROOT

pytestmark = pytest.mark.django_db

FENCE = re.compile(r"^```bash\n(.*?)^```", re.DOTALL | re.MULTILINE)
PAGE = (ROOT / "docs" / "guides" / "retention.md").read_text()
COMMANDS = [line for fence in FENCE.findall(PAGE) for line in fence.splitlines()]


@pytest.fixture
def old_event(settings, tmp_path) -> None:
    settings.ARCHIVE_URL = str(tmp_path)
    with connection.cursor() as cursor:
        cursor.execute("SELECT retention_make_partition('events_event', '2026-02-01Z')")
    facts = {"object_type": "project", "object_id": "ads", "actor": "jane", "data": {"project": "ads"}}
    Event.objects.create(type="project.updated", at=datetime(2026, 2, 11, tzinfo=UTC), **facts)
    log.number_committed()


def test_each_command_runs_in_the_order_of_the_page(old_event):
    lines: dict[str, str] = {}
    for command in COMMANDS:
        _, program, name, *arguments = shlex.split(command)
        assert program == "manage.py"
        if name == "legal_hold" and arguments[0] == "release":
            arguments[1] = re.findall(r"\d+", lines["legal_hold place"])[0]
        out = StringIO()
        call_command(name, *arguments, stdout=out)
        lines[" ".join([name, *arguments[:1]])] = out.getvalue()

    assert len(COMMANDS) == 10
    assert "events_event_2026_02: dropped" in lines["archive_logs"]
    assert "4711" in lines["legal_hold list"]


def test_a_worker_makes_archives_drops_seals_and_verifies_with_its_role(old_event):
    now = statement_now()
    with connection.cursor() as cursor:
        roles.establish(cursor, passwords={})
        cursor.execute(f"DROP TABLE events_event_{now:%Y}_12" if now.month < 12 else "SELECT 1")
        cursor.execute(f"SET LOCAL ROLE {roles.WORKER}")

    tasks.tend_partitions()
    tasks.seal_audit()
    tasks.retain()

    assert not Event.objects.filter(object_id="ads").exists()
    with connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL ROLE {roles.WEB}")
    text = exposition().text.decode()
    assert 'cp_log_partition_months_ahead{log="events_event"} 3.0' in text
    assert 'cp_archive_last_success_timestamp_seconds{log="events_event"}' in text
    assert 'cp_log_rows_without_partition{log="access_auditrecord"} 0.0' in text
    assert "cp_audit_chain_breaks 0.0" in text
