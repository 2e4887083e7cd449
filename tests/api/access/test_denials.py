"""Refused requests are in the audit log, once a minute; a disabled person's sessions are over for good."""

from __future__ import annotations

import pytest

from controlplane.access import attempt_counters
from controlplane.access.models import AuditRecord, Session
from controlplane.identity.roles import Role
from tests.support.api_client import Api, logged_in, make_project, token_for

pytestmark = pytest.mark.django_db


def denials() -> list[tuple[str, str]]:
    rows = AuditRecord.objects.filter(action="access.denied").order_by("id")
    return list(rows.values_list("actor", "session_hint"))


def test_a_refused_request_is_recorded_once_a_minute_for_each_principal_and_action():
    secret = token_for("viewer")
    first, second = Api(secret), Api(token_for("viewer"))
    make_project("p")

    for _ in range(3):
        assert first.get("principals").status_code == 403
        assert first.put("overrides/task_resource?project=p", {"attributes": {}}).status_code == 403
    second.get("principals")

    assert len(denials()) == 3
    assert denials()[0][1] == secret[:11]


def test_a_refused_page_is_recorded_too():
    browser = logged_in("eve", Role.VIEWER)

    assert browser.get("/join-tokens").status_code == 403

    assert [actor for actor, _ in denials()] == ["eve"]


def test_what_is_allowed_or_not_authenticated_is_not_recorded():
    Api(token_for("admin")).get("principals")
    Api().get("principals")
    Api("cp_pat_wrong").get("principals")

    assert denials() == []


def test_the_answer_does_not_depend_on_the_counter(monkeypatch):
    attempt_counters.start_over()
    monkeypatch.setattr(attempt_counters._valkey, "is_paused", lambda: True)

    assert Api(token_for("viewer")).get("principals").status_code == 403
    assert len(denials()) == 1


def test_the_sessions_of_a_disabled_person_do_not_come_back(api):
    browser = logged_in("eve", Role.VIEWER)
    assert browser.get("/agents").status_code == 200

    api.patch("principals/eve", {"is_active": False})
    assert browser.get("/agents").status_code == 302
    api.patch("principals/eve", {"is_active": True})

    assert browser.get("/agents").status_code == 302
    assert not Session.objects.filter(principal__name="eve").exists()
    assert AuditRecord.objects.filter(action="session.ended").count() == 1
