"""Templates with Flyte's variables and ours, and Flyte's own e-mail settings."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controlplane.delivery.cloudevents import Origin
from controlplane.delivery.filters import SinkFilter
from controlplane.errors import InvalidRequest
from controlplane.notifications.flyte_emailer import read_emailer
from controlplane.notifications.rules import Rule
from controlplane.notifications.templates import check_template, event_values, render, render_line
from controlplane.notifications.wording import AlertLine, MessageFacts, words_of
from controlplane.scopes import Scope
from tests.unit.controlplane.delivery.events import logged_event

EVENT, ORIGIN = logged_event(), Origin("https://cp.example.com")
FAILED = replace(
    EVENT,
    type="flyte.workflow_event",
    scope=Scope(domain="production", project="shop", workflow="train"),
    data={
        "requestId": "r",
        "event": {
            "executionId": {"project": "shop", "domain": "production", "name": "f1"},
            "phase": "FAILED",
            "error": {"code": "USER", "message": "out of memory"},
        },
        "launchPlanId": {"name": "nightly", "version": "v7"},
    },
)
# As flyte.org's guide prints it.
FLYTE_VALUES = """
workflow_notifications:
  enabled: true
  config:
    notifications:
      type: aws
      region: us-east-2
      publisher: {topicName: "arn:aws:sns:us-east-2:111:topic"}
      processor: {queueName: queue, accountId: "111"}
      emailer:
        emailServerConfig:
          serviceName: smtp
          smtpServer: smtp.example.com
          smtpPort: 465
          smtpSkipTLSVerify: false
          smtpUsername: flyte
          smtpPasswordSecretName: smtp-password
        subject: "Notice: Execution \\"{{ workflow.name }}\\" has {{ phase }} in \\"{{ domain }}\\"."
        sender: "flyte@example.com"
        body: >
          Execution \\"{{ workflow.name }} [{{ name }}]\\" has {{ phase }} in \\"{{ domain }}\\".{{ error }}
"""


def test_flytes_variables_have_flytes_values():
    text = "{{ project }}/{{domain}} {{ name }} {{ phase }} {{ workflow.name }} {{ launch_plan.version }}"
    text += "{{ error }}"
    assert render(text, event_values(FAILED)) == (
        "shop/production f1 failed train v7 The execution failed with error: [out of memory]."
    )


def test_a_rule_for_phases_matches_those_phases_alone():
    base = {"id": EVENT.id, "name": "r", "channels": (), "created_by": EVENT.id}
    rule = Rule(filter=SinkFilter(), phases=frozenset({"FAILED", "TIMED_OUT"}), **base)
    assert rule.raises(FAILED, ORIGIN)
    succeeded = {**FAILED.data, "event": {**FAILED.data["event"], "phase": "SUCCEEDED"}}
    assert not rule.raises(replace(FAILED, data=succeeded), ORIGIN)
    assert not rule.raises(EVENT, ORIGIN)


@pytest.mark.parametrize(
    "text", ["{{ unknown }}", "{{ workflow.unknown }}", "{{ data.other }}", "{{ a b }}", "{{"]
)
def test_an_unknown_variable_is_refused(text):
    with pytest.raises(InvalidRequest):
        check_template(text, "/body", {"name"})


def test_values_are_texts_and_never_templates():
    event = replace(EVENT, data={"name": "{{ event.id }}"})
    assert render("{{ data.name }}{{ data.absent }}", event_values(event)) == "{{ event.id }}"
    two_lines = replace(EVENT, data={"name": "a\0\r\nBcc: b"})
    assert render_line("{{ data.name }}", event_values(two_lines)) == "a Bcc: b"


def test_flytes_helm_values_are_read_as_they_are():
    emailer = read_emailer(FLYTE_VALUES)
    assert emailer.settings == {
        "SMTP_HOST": "smtp.example.com",
        "SMTP_PORT": "465",
        "SMTP_USERNAME": "flyte",
        "SMTP_SENDER": "flyte@example.com",
    }
    assert emailer.password_path == "/etc/secrets/smtp-password"
    assert render_line(emailer.subject, event_values(FAILED)) == (
        'Notice: Execution "train" has failed in "production".'
    )


def test_flytes_sendgrid_is_reached_by_smtp():
    emailer = read_emailer(
        "emailer: {emailServerConfig: {serviceName: sendgrid, apiKeyEnvVar: KEY}, subject: '{{ name }}'}"
    )
    assert emailer.settings["SMTP_HOST"] == "smtp.sendgrid.net"
    assert emailer.password_variable == "KEY"
    with pytest.raises(InvalidRequest, match="smtp or sendgrid"):
        read_emailer("emailer: {emailServerConfig: {serviceName: pigeon}}")
    with pytest.raises(InvalidRequest, match="no variable"):
        read_emailer("emailer: {subject: '{{ nothing }}'}")


def test_a_message_names_what_it_is_about():
    lines = [AlertLine("agent unavailable: a", "text", "agent.unavailable", "prod")]
    assert words_of(MessageFacts("r", 1, 1, lines)).subject == "agent unavailable: a"
    assert words_of(MessageFacts("r", 1, 0, lines)).subject == "Resolved: agent unavailable: a"
    mass = words_of(MessageFacts("r", 412, 400, lines * 20, ["prod", "stage"]))
    assert mass.subject == "412 × agent unavailable (prod, stage)"
    assert mass.text.splitlines()[0] == "400 of 412 alerts of the rule r are firing."
    assert mass.text.splitlines()[-1] == "- 392 more"
