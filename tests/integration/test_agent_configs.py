"""Documents of many teams and what data planes are given: isolation, last known good, blame."""

from __future__ import annotations

import threading

import pytest
from django.db import connections, connection, transaction, InternalError

from controlplane.access.models import AuditRecord
from controlplane.errors import InvalidAgentConfig, LimitReached, UnknownBundle, VersionMismatch
from controlplane.events.models import Event
from controlplane.preconditions import Precondition
from registry.agent_configs.claims import ClaimKind, DocumentId
from registry.agent_configs.conditions import AckState
from registry.agent_configs.grants import Grant, Transfer
from registry.publishing.acks import AckError, Acknowledgement, acknowledge, tell_silent_planes
from registry.publishing.handing_over import give_grant, release, transfer
from registry.publishing.planes import Described, Format, approve, configuration, get_plane, put_plane
from registry.publishing.previews import Change, preview
from registry.publishing.publishing import Wanted, delete_document, get_document, put_document
from registry.publishing.quarantining import quarantine, readmit
from registry.publishing.recomputing import recompute_all
from registry.publishing.rows import (
    AgentConfigBundle,
    AgentConfigQuarantine,
    AgentConfigStatus,
    ClaimRecord,
    DataPlane,
)
from tests.api_client import ACTOR


def text(agent: str, *task_types: str, endpoint: str = "", **settings: str) -> str:
    more = "".join(f"        {name}: {value}\n" for name, value in settings.items())
    types = "".join(f"    - {one}\n" for one in task_types)
    return (
        "plugins:\n  agent-service:\n    agents:\n"
        f"      {agent}:\n        endpoint: {endpoint or agent + '.svc.cluster.local:8000'}\n{more}"
        f"    supportedTaskTypes:\n{types}"
    )


def name(team: str, document: str = "agents") -> DocumentId:
    return DocumentId("api", team, document)


def publish(team: str, said: str, document: str = "agents", **more):
    return put_document(Wanted(name(team, document), said), actor=ACTOR, **more)[0]


@pytest.fixture
def plane(db) -> str:
    put_plane("eu", Described(), actor=ACTOR)
    return "eu"


def served(plane: str = "eu") -> str:
    return configuration(get_plane(plane), Format.YAML).body


def revision(plane: str = "eu") -> int:
    return get_plane(plane).active_revision


def condition(team: str, type_: str, plane: str = "eu", document: str = "agents") -> dict:
    status = AgentConfigStatus.objects.get(document=get_document(name(team, document)), data_plane=plane)
    (found,) = (one for one in status.conditions if one["type"] == type_)
    return found


def ack(state: AckState = AckState.APPLIED, *errors: AckError, plane: str = "eu", at: int = 0):
    said = Acknowledgement(at or revision(plane), state, errors=errors)
    return acknowledge(plane, said, actor=ACTOR)


def test_a_published_document_is_served_audited_and_told(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))

    assert "acme-sensor.svc.cluster.local:8000" in served()
    assert condition("acme", "Accepted")["status"] == "True"
    assert condition("acme", "Programmed")["status"] == "True"
    assert AuditRecord.objects.filter(action="agent_config.published", object_id="api/acme/agents").exists()
    told = set(Event.objects.values_list("type", flat=True))
    assert {"agent_config.published", "agent_config_bundle.activated", "agent_config.status_changed"} <= told


def test_recomputing_again_changes_nothing(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))
    before = (revision(), Event.objects.count(), list(ClaimRecord.objects.values()))
    DataPlane.objects.update(inputs_digest="")

    assert recompute_all(ACTOR) == []

    assert (revision(), Event.objects.count(), list(ClaimRecord.objects.values())) == before


def test_an_invalid_document_is_refused_with_every_mistake_and_changes_nothing(plane):
    publish("acme", text("acme-sensor", "acme_sensor"))
    before = served()

    with pytest.raises(InvalidAgentConfig) as refused:
        publish("acme", text("Acme", "bad type", insecure='"yes"'))

    assert len(refused.value.errors) >= 3
    assert all(one.line for one in refused.value.errors)
    assert served() == before
