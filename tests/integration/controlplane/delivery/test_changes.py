"""Events of mutations carry what was changed, for sinks whose creators may read audit records."""

from __future__ import annotations

import pytest
from django.db import transaction

from controlplane.access import audit
from controlplane.access.audit import Mutation
from controlplane.access.models import AuditRecord
from controlplane.delivery.models import Sink
from controlplane.events.audiences import declare_audience
from controlplane.events.models import Event
from controlplane.events.types import TEXT, register
from controlplane.identity.actors import Actor, system
from controlplane.identity.roles import Action
from tests.integration.controlplane.delivery.conftest import dispatch_all, move
from tests.support.api_client import make_principal

pytestmark = pytest.mark.django_db(transaction=True)
declare_audience("walk", Action.AGENT_READ)
WALK_ENDED = register("walk.ended", "A walk in a test ended.", at=TEXT)


def _end_walk(actor: Actor) -> None:
    with transaction.atomic():
        audit.record(
            WALK_ENDED,
            "walk",
            "long",
            actor=actor,
            before={"state": "walking"},
            after={"state": "resting"},
            data={"at": "home"},
        )


def test_a_sink_gets_before_after_and_cause(make_sink, receiver, relays):
    make_sink()
    _end_walk(Actor(None, "ann", reason="It rains"))
    dispatch_all()
    relays.until_settled()
    assert receiver.received[0].event["data"] == {
        "at": "home",
        "before": {"state": "walking"},
        "after": {"state": "resting"},
        "cause": {"kind": "request", "reason": "It rains"},
    }


def test_a_creator_who_may_not_read_audit_records_gets_the_cause_alone(make_sink, receiver, relays):
    make_sink()
    Sink.objects.update(created_by=make_principal("operator"))
    _end_walk(system("sweep"))
    dispatch_all()
    relays.until_settled()
    assert receiver.received[0].event["data"] == {"at": "home", "cause": {"kind": "sweep"}}


def test_an_event_without_a_mutation_has_a_cause(make_sink, receiver, relays):
    make_sink()
    move("a")
    dispatch_all()
    relays.until_settled()
    assert receiver.received[0].event["data"] == {"to": "x", "cause": {"kind": "request"}}


def test_each_of_many_mutations_names_its_event():
    states = [{"state": str(number)} for number in range(3)]
    mutations = [
        Mutation(WALK_ENDED, state["state"], None, state, {"at": state["state"]}) for state in states
    ]
    with transaction.atomic():
        audit.record_many("walk", mutations, actor=Actor(None, "ann"))
    named = {record.object_id: record.event_id for record in AuditRecord.objects.filter(object_type="walk")}
    assert named == dict(Event.objects.filter(object_type="walk").values_list("object_id", "id"))
