"""Logins and refused requests in the audit log and in the events, with how the actor was authenticated."""

from __future__ import annotations

from uuid import uuid4

import pytest

from controlplane.access import audit, login_event_types
from controlplane.access.audit import Mutation
from controlplane.access.models import AuditRecord
from controlplane.access.occurrences import cut_name, record_occurrence
from controlplane.events.models import Event
from controlplane.identity.actors import Actor, system

LOGIN = ("client", "identity", "session_hint")
ACTOR = Actor(uuid4(), "ann", "r1", "", "flytectl", "https://idp.example#7", "cp_oat_abcd")
pytestmark = pytest.mark.django_db


def test_an_occurrence_is_an_audit_row_and_an_event_without_an_object():
    data = {"principal": "ann", "action": "access.write"}

    record_occurrence(login_event_types.ACCESS_DENIED, "ann", actor=system("login"), data=data)

    row, event = AuditRecord.objects.get(), Event.objects.get()
    assert (row.action, row.object_type, row.object_id) == ("access.denied", "access", "ann")
    assert (row.before, row.after, row.actor) == (None, None, "system:login")
    assert (event.type, event.data) == ("access.denied", data)


def test_the_audit_log_has_how_the_actor_was_authenticated():
    audit.record_many(
        "principal",
        [Mutation(login_event_types.ACCESS_DENIED, "x", None, None, {"principal": "x", "action": "y"})],
        actor=ACTOR,
    )
    data = {"principal": "ann", "provider": "corp"}
    record_occurrence(login_event_types.ACCESS_STEP_UP, "ann", actor=ACTOR, data=data)

    expected = {"client": "flytectl", "identity": "https://idp.example#7", "session_hint": "cp_oat_abcd"}
    assert list(AuditRecord.objects.values(*LOGIN)) == [expected, expected]


def test_the_system_has_no_login():
    data = {"principal": "ann", "provider": "corp"}
    record_occurrence(login_event_types.ACCESS_STEP_UP, "ann", actor=system("x"), data=data)

    assert AuditRecord.objects.values_list(*LOGIN).get() == (None, None, None)


def test_a_name_from_a_client_is_short_and_printable():
    assert cut_name("ann\n\x1b[31m" + "x" * 100) == ("ann��[31m" + "x" * 100)[:63]
