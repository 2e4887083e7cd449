"""Sinks of upstream's configuration, as the file changes."""

from __future__ import annotations

import logging
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from controlplane.access.models import AuditRecord, Principal, RoleBinding
from controlplane.delivery import kinds
from controlplane.delivery.kinds import SinkKind
from controlplane.delivery.models import Sink
from controlplane.delivery.sink_secrets import secrets_of
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import create_sink
from controlplane.events import log
from controlplane.identity.actors import Actor
from overrides.flyte.cloud_events_file.applying import apply, apply_file
from overrides.flyte.cloud_events_file.reading import read
from tests.support.api_client import make_principal, make_project

pytestmark = pytest.mark.django_db
NATS = """
cloudEvents:
  enable: true
  type: nats
  eventsPublisher: {eventTypes: [all], topicName: flyte}
  nats: {servers: [a], tokenAuthentication: {enabled: true, token: hidden}}
"""
KAFKA = """
cloudEvents:
  enable: true
  type: kafka
  eventsPublisher: {eventTypes: [workflow], topicName: flyte}
  kafka: {brokers: [b]}
"""


TOPIC = "arn:aws:sns:us-east-2:123456:123-my-topic"
TOPICS = f"""
cloudEvents:
  enable: true
  type: aws
  eventsPublisher: {{eventTypes: [all], topicName: "{TOPIC}"}}
  aws: {{region: us-east-2}}
externalEvents:
  enable: true
  type: gcp
  eventsPublisher: {{eventTypes: [all], topicName: my-topic}}
  gcp: {{projectId: my-project-id}}
"""


@pytest.fixture(autouse=True)
def _brokers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kinds that take every setting: which of them are installed is not the matter here."""
    known = dict(kinds._kinds)
    for name in ("nats", "kafka"):
        known[name] = SinkKind(name, lambda config, credentials: None, lambda config, secrets: None)  # type: ignore[arg-type,return-value]
    monkeypatch.setattr(kinds, "_kinds", known)


def made(text: str, **more: Any) -> list[tuple[str, str]]:
    return [(result.name, result.action) for result in apply(read(text, "f"), **more)]


def test_a_file_makes_its_sinks_once():
    assert made(NATS) == [("flyte-cloud-events", "created")]
    sink = Sink.objects.get()
    assert (sink.kind, sink.flavour, sink.team) == ("nats", "flyte-v1", None)
    assert (sink.config, sink.filter) == ({"subject": "flyte", "servers": ["a"]}, {"types": ["flyte.*"]})
    assert secrets_of(sink).credentials == {"token": "hidden"}
    assert "hidden" not in str([list(AuditRecord.objects.values()), sink.config])
    reader = Principal.objects.get(name="flyte-cloud-events")
    assert [binding.role for binding in RoleBinding.objects.filter(principal=reader)] == ["viewer"]

    assert made(NATS) == [("flyte-cloud-events", "kept")]
    assert Sink.objects.get().version == sink.version


def test_topics_of_clouds_become_sinks_of_their_kinds():
    assert {action for _, action in made(TOPICS)} == {"created"}
    found = {sink.kind: (sink.flavour, sink.config) for sink in Sink.objects.all()}
    assert found == {
        "sns": ("flyte-v1", {"topic_arn": TOPIC, "region": "us-east-2"}),
        "pubsub": ("flyte-external", {"project": "my-project-id", "topic": "my-topic"}),
    }
    assert {action for _, action in made(TOPICS)} == {"kept"}


def test_a_topic_of_another_region_or_without_a_project_is_named_and_not_made():
    wrong = TOPICS.replace("region: us-east-2", "region: eu-west-1").replace("projectId: my-project-id", "")
    reasons = {result.name: result.reason for result in apply(read(wrong, "f"))}
    assert reasons["flyte-cloud-events"].startswith("The topic is in us-east-2.")
    assert reasons["flyte-external-events"] == "A sink of kind pubsub needs project."
    assert not Sink.objects.exists()


def test_what_changes_in_the_file_changes_the_sink():
    made(NATS)

    assert made(NATS.replace("hidden", "other")) == [("flyte-cloud-events", "changed")]
    assert secrets_of(Sink.objects.get()).credentials == {"token": "other"}
    assert made(NATS.replace("topicName: flyte", "topicName: x")) == [("flyte-cloud-events", "changed")]
    assert Sink.objects.get().config["subject"] == "x"


def test_another_kind_is_another_sink_that_goes_on_where_the_first_was():
    made(NATS)
    cursor = Sink.objects.get().cursor_seq
    make_project()
    assert log.last_number() > cursor

    assert made(KAFKA) == [("flyte-cloud-events", "changed")]

    sink = Sink.objects.get()
    assert (sink.kind, sink.cursor_seq) == ("kafka", cursor)


def test_what_is_switched_off_is_deleted():
    made(NATS)

    assert made(NATS.replace("enable: true", "enable: false")) == [("flyte-cloud-events", "deleted")]
    assert not Sink.objects.exists()
    assert made("storage: {}") == []


def test_a_dry_run_changes_nothing():
    assert made(NATS, dry_run=True) == [("flyte-cloud-events", "created")]
    assert not Sink.objects.exists()


def test_a_kind_that_is_not_installed_is_named_and_stops_nothing_else(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(kinds, "_kinds", {"nats": kinds._kinds["nats"]})
    external = "externalEvents: {enable: true, type: aws, eventsPublisher: {eventTypes: [all], topicName: a}}"
    file = tmp_path / "values.yaml"
    file.write_text(NATS + external)
    output = StringIO()

    with pytest.raises(
        CommandError, match="flyte-external-events: This installation has no sinks of kind sns"
    ):
        call_command("flyte_cloud_events", str(file), stdout=output)

    assert output.getvalue() == "flyte-cloud-events: created\n"


def test_a_sink_of_somebody_else_stays_as_it_is():
    person = make_principal("admin")
    terms = SinkTerms("flyte-cloud-events", {}, kind="nats")
    create_sink(terms, team=None, actor=Actor(person.id, person.name))

    (result,) = apply(read(NATS, "f"))

    assert (result.action, result.reason[:12]) == ("failed", "Somebody els")
    assert Sink.objects.get().config == {}


def test_the_command_prints_warnings_and_refuses_what_it_cannot_read(tmp_path):
    file = tmp_path / "f.yaml"
    file.write_text(KAFKA.replace("[b]", "b"))
    output, errors = StringIO(), StringIO()
    call_command("flyte_cloud_events", str(file), "--dry-run", stdout=output, stderr=errors)
    assert output.getvalue() == "flyte-cloud-events: would be created\n"
    assert errors.getvalue().startswith("warning: f.yaml, line 6: `kafka.brokers` is a text")

    file.write_text("cloudEvents: 5")
    with pytest.raises(CommandError, match="must be a mapping"):
        call_command("flyte_cloud_events", str(file))


def test_no_start_fails_for_the_file(tmp_path: Path, caplog):
    caplog.set_level(logging.ERROR)
    apply_file(str(tmp_path / "missing.yaml"))
    (tmp_path / "f.yaml").write_text(NATS)
    apply_file(str(tmp_path / "f.yaml"))

    assert Sink.objects.count() == 1
