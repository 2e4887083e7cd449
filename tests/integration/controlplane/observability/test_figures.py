"""Figures of single subjects: what happened, and what then is shown."""

from __future__ import annotations

import subprocess
import time
from contextlib import nullcontext
from datetime import UTC, datetime, timedelta

import pytest
from celery.signals import after_task_publish
from django.db import DatabaseError, connection, transaction
from prometheus_client.registry import REGISTRY

from controlplane.access import audit, event_types
from controlplane.access.auth_metrics import SigningKeyCollector, count_oidc_request
from controlplane.access.oauth import signing_keys
from controlplane.errors import LoginRefused, RemoteFailed
from controlplane.events import log
from controlplane.events.metrics import EventCollector
from controlplane.identity.actors import Actor, system
from controlplane.observability import queue_metrics
from controlplane.observability.certificates import note_certificate
from controlplane.observability.queue_metrics import QueueCollector, note_ticks
from overrides.executions.phases import Subject
from overrides.executions.recording import record
from overrides.executions.reports import Report

ACTOR = Actor(None, "test", "r1")
NOW = datetime(2026, 11, 25, 12, tzinfo=UTC)


def value(name, **labels):
    return REGISTRY.get_sample_value(name, labels) or 0


def collected(collector):
    return {sample.name: sample.value for family in collector.collect() for sample in family.samples}


@pytest.mark.django_db
def test_the_age_of_the_signing_key_starts_anew_with_a_rotation():
    assert collected(SigningKeyCollector()) == {}
    key = signing_keys.rotate(actor=system("test"))
    type(key).objects.filter(id=key.id).update(activated_at=datetime.now(UTC) - timedelta(days=3))

    assert collected(SigningKeyCollector())["cp_signing_key_age_seconds"] == pytest.approx(3 * 86400, abs=60)
    signing_keys.rotate(actor=system("test"))
    assert collected(SigningKeyCollector())["cp_signing_key_age_seconds"] < 60


@pytest.mark.django_db
def test_events_wait_for_a_number_until_somebody_follows():
    before = collected(EventCollector())
    for name in ("a", "b"):
        log.append(
            event_types.LOGIN_SUCCEEDED,
            "principal",
            name,
            data={"principal": name, "provider": ""},
            actor="x",
        )
    time.sleep(0.02)

    waiting = collected(EventCollector())
    assert waiting["cp_event_feed_lag_seconds"] >= 0.02
    log.number_committed()
    after = collected(EventCollector())
    assert after["cp_event_feed_lag_seconds"] == 0
    assert after["cp_events_numbered_total"] == before["cp_events_numbered_total"] + 2


@pytest.mark.django_db
def test_an_audit_record_that_postgres_refuses_is_counted_and_its_error_goes_on():
    before = value("cp_audit_failures_total")
    with connection.cursor() as cursor:
        cursor.execute(
            "ALTER TABLE access_auditrecord ADD CONSTRAINT nobody CHECK (actor <> 'nobody') NOT VALID"
        )

    with pytest.raises(DatabaseError), transaction.atomic():
        audit.record(
            event_types.LOGIN_SUCCEEDED,
            "principal",
            "p",
            actor=Actor(None, "nobody", "r1"),
            before=None,
            after=None,
            data={"principal": "p", "provider": ""},
        )

    assert value("cp_audit_failures_total") == before + 1


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (None, "accepted"),
        (LoginRefused("No."), "refused"),
        (RemoteFailed("Away."), "failed"),
        (OSError(), "failed"),
    ],
)
def test_requests_to_providers_are_counted_by_what_came_of_them(error, result):
    labels = {"provider": "corp", "result": result}
    before = value("cp_oidc_requests_total", **labels)
    expected = pytest.raises(type(error)) if error else nullcontext()
    with expected, count_oidc_request("corp"):
        if error:
            raise error

    assert value("cp_oidc_requests_total", **labels) == before + 1


def report(phase, seconds):
    return Report(
        Subject.WORKFLOW, "p", "d", "e1", phase, message={}, occurred_at=NOW + timedelta(seconds=seconds)
    )


@pytest.mark.django_db
def test_phases_of_an_execution_are_counted_once_with_the_time_in_each(django_capture_on_commit_callbacks):
    names = ("QUEUED", "RUNNING", "SUCCEEDED")
    before = {name: value("cp_flyte_executions_total", phase=name) for name in names}
    times = {name: value("cp_flyte_workflow_phase_seconds_sum", phase=name) for name in names}
    ended = value("cp_flyte_workflow_seconds_count", phase="SUCCEEDED")

    with django_capture_on_commit_callbacks(execute=True):
        for phase, seconds in (("QUEUED", 0), ("RUNNING", 4), ("RUNNING", 5), ("SUCCEEDED", 64)):
            record(report(phase, seconds), actor=ACTOR)

    assert {name: value("cp_flyte_executions_total", phase=name) - before[name] for name in names} == {
        name: 1 for name in names
    }
    spent = {name: value("cp_flyte_workflow_phase_seconds_sum", phase=name) - times[name] for name in names}
    assert spent == {"QUEUED": 4, "RUNNING": 60, "SUCCEEDED": 0}
    assert value("cp_flyte_workflow_seconds_count", phase="SUCCEEDED") == ended + 1


@pytest.mark.django_db
def test_a_phase_that_was_rolled_back_is_not_counted(django_capture_on_commit_callbacks):
    before = value("cp_flyte_executions_total", phase="QUEUED")
    with (
        django_capture_on_commit_callbacks(execute=True),
        pytest.raises(RuntimeError),
        transaction.atomic(),
    ):
        record(report("QUEUED", 0), actor=ACTOR)
        raise RuntimeError

    assert value("cp_flyte_executions_total", phase="QUEUED") == before


def test_the_tick_of_beat_reaches_web_servers_through_valkey():
    began = time.time()
    note_ticks()
    after_task_publish.send(sender="pools.sweep", headers={}, body=None)

    figures = collected(QueueCollector())
    assert began - 1 <= figures["cp_beat_last_tick_timestamp_seconds"] <= time.time() + 1
    assert figures["cp_queue_depth"] >= 0


def test_without_valkey_the_other_figures_are_shown(settings):
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    queue_metrics._client.cache_clear()
    try:
        assert collected(QueueCollector()) == {}
    finally:
        queue_metrics._client.cache_clear()


def test_the_end_of_a_certificate_is_shown(tmp_path):
    file, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    command = f"openssl req -x509 -newkey rsa:2048 -nodes -days 13 -subj /CN=x -keyout {key} -out {file}"
    subprocess.run(command.split(), check=True, capture_output=True)

    note_certificate("web", str(file))

    left = value("cp_certificate_expiry_timestamp_seconds", certificate="web") - time.time()
    assert left == pytest.approx(13 * 86400, abs=120)
