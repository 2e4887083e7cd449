"""When the reference agent joins again with the next token of its issuer."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta

import pytest

from tests.unit.examples.agent.test_agent import program  # noqa: F401  (a fixture)


@pytest.fixture
def subject(program, tmp_path):  # noqa: F811
    (tmp_path / "subject").write_text("first\n")
    return program.SubjectToken(str(tmp_path / "subject"))


def plan(subject, seconds: float, monkeypatch, after: float) -> None:
    began = time.monotonic()
    monkeypatch.setattr(time, "monotonic", lambda: began)
    subject.plan((datetime.now(UTC) + timedelta(seconds=seconds)).isoformat())
    monkeypatch.setattr(time, "monotonic", lambda: began + after)


def test_after_a_restart_each_token_of_the_file_is_tried_once(subject):
    assert subject.is_due()
    subject.use()
    assert not subject.is_due()
    subject.file.write_text("second")
    assert subject.is_due()


@pytest.mark.parametrize(
    ("after", "is_replaced", "is_due"),
    [(40, True, False), (60, True, True), (60, False, False), (80, False, True), (80, True, True)],
)
def test_it_waits_for_the_next_token_but_not_for_ever(subject, monkeypatch, after, is_replaced, is_due):
    subject.use()
    plan(subject, 100, monkeypatch, after)
    if is_replaced:
        subject.file.write_text("second")

    assert subject.is_due() is is_due


def test_a_missing_file_is_not_due(subject):
    subject.use()
    subject.file.unlink()

    assert not subject.is_due()


def test_a_refused_renewal_leaves_the_agent_its_token(program, subject, monkeypatch):  # noqa: F811
    plane = program.ControlPlane("http://127.0.0.1:9", "", None, subject)
    plane.token = "cp_agt_own"
    agent = program.Agent(plane, {"name": "a", "service_types": []}, None)
    agent.id, agent.registered = "known", {"name": "a", "service_types": []}
    sent = []

    def refuse(method, path, body=None, **headers):
        sent.append((plane.token, body["subject_token"]))
        raise program.Refused(401, "used before", 0, "not_authenticated")

    monkeypatch.setattr(plane, "call", refuse)
    agent.renew()
    agent.renew()

    assert sent == [("", "first")]
    assert (plane.token, agent.id) == ("cp_agt_own", "known")
