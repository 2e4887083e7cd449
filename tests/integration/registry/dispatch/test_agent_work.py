"""Agents that still have resources: removal, deregistration, retirement, transfer; teams; retention."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db.models.functions import Now

from controlplane.access.models import AuditRecord
from controlplane.access.team_models import Team
from controlplane.access.teams.teams import delete_team
from controlplane.errors import Conflict, InvalidRequest, StillInUse
from controlplane.events.models import Event
from controlplane.messaging.models import DeadLetter, InboxEntry, OutboxMessage
from registry import lifecycle
from registry.agents.models import Agent, Lease
from registry.dispatch import retention
from registry.dispatch.lifecycle.service_types import Profile
from registry.dispatch.models import AssignmentRow, ResourceRow, TimelineRow
from registry.dispatch.resources.requests import (
    ResourceRequest,
    create_resource,
    delete_resource,
    retry_resource,
)
from registry.dispatch.sweep import sweep_resources
from registry.ownership import transfer
from tests.support import dispatch_samples as samples
from tests.support.api_client import token_for

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _reachable() -> None:
    samples.end_grace()


@pytest.fixture
def agent() -> Agent:
    return samples.make_agent("alpha")


def run(agent: Agent) -> ResourceRow:
    samples.request()
    samples.send_all()
    samples.answer("creation-acknowledged", agent)
    samples.report("RUNNING", message="Listening on port 80.")
    return ResourceRow.objects.get()


def delete(*, force: bool = False) -> ResourceRow:
    return delete_resource("web", force=force, caller=samples.ADMIN, actor=samples.ACTOR)


def test_an_agent_that_has_a_resource_is_not_deregistered_or_removed(agent: Agent) -> None:
    run(agent)
    with pytest.raises(StillInUse) as deregistration:
        lifecycle.deregister(agent.id, actor=samples.ACTOR)
    assert deregistration.value.detail == (
        "This agent still has 1 resource. Delete or move them first, or deregister it with force=true."
    )
    lifecycle.retire(agent.id, actor=samples.ACTOR)
    with pytest.raises(StillInUse, match="remove the agent with force=true"):
        lifecycle.remove(agent.id, force=False, actor=samples.ACTOR)
    lifecycle.remove(agent.id, force=True, actor=samples.ACTOR)
    assert not Agent.objects.exists()


def test_garbage_collection_keeps_an_agent_that_has_a_resource(agent: Agent) -> None:
    run(agent)
    Lease.objects.update(renewed_at=Now() - timedelta(days=99))
    Agent.objects.update(state="retired", state_since=Now() - timedelta(days=99))
    ages = {"retire_after": timedelta(days=7), "remove_after": timedelta(days=30)}

    assert lifecycle.collect_garbage(**ages) == (0, 0)
    AssignmentRow.objects.update(state="closed")
    assert lifecycle.collect_garbage(**ages) == (0, 1)


def test_what_runs_at_a_retired_agent_says_so_and_its_owner_can_delete_it(agent: Agent) -> None:
    run(agent)
    lifecycle.retire(agent.id, actor=samples.ACTOR)
    sweep_resources()

    row = ResourceRow.objects.get()
    reason = "alpha is retired or removed, so it is unknown whether the resource still exists."
    assert (row.state, row.reason) == ("running", reason)
    assert Event.objects.filter(type="resource.overdue").count() == 1
    delete()
    assert ResourceRow.objects.get().state == "deleting"
    assert delete(force=True).state == "deleted"
    assert AssignmentRow.objects.get().state == "abandoned"


def test_a_retired_agent_s_deletions_are_given_up_with_an_alarm(agent: Agent) -> None:
    run(agent)
    delete()
    lifecycle.retire(agent.id, actor=samples.ACTOR)
    AssignmentRow.objects.update(deletion_sent_at=Now() - timedelta(minutes=2))
    ResourceRow.objects.update(due_at=Now())
    sweep_resources()

    assert ResourceRow.objects.get().state == "deleted"
    alarm = Event.objects.get(type="resource.overdue")
    assert alarm.data["reason"] == (
        "alpha is retired or removed. The deletion is given up: something may still exist there."
    )


def test_an_agent_is_not_transferred_to_a_team_that_may_not_serve_its_resources(agent: Agent) -> None:
    team = Team.objects.create(slug="blue")
    run(agent)
    with pytest.raises(StillInUse, match="1 resource that does not belong to team 'blue'"):
        transfer(agent.id, "blue", caller=samples.ADMIN, actor=samples.ACTOR)
    ResourceRow.objects.update(team=team)
    assert transfer(agent.id, "blue", caller=samples.ADMIN, actor=samples.ACTOR).team_id == team.id


def test_a_team_is_kept_by_its_resources_and_not_by_their_records(agent: Agent) -> None:
    team = Team.objects.create(slug="blue")
    samples.request(team_id=team.id)
    with pytest.raises(StillInUse, match="still owns resources"):
        delete_team(team, actor=samples.ACTOR)
    delete(force=True)
    token_for("admin")  # an administrator must remain
    delete_team(team, actor=samples.ACTOR)
    assert not ResourceRow.objects.exists()


def test_what_could_not_be_deleted_can_be_given_up_and_placed_again(agent: Agent) -> None:
    run(agent)
    AssignmentRow.objects.update(state="stuck", deletion_sent_at=Now())
    row = retry_resource("web", force=True, caller=samples.ADMIN, actor=samples.ACTOR)
    states = AssignmentRow.objects.order_by("epoch").values_list("state", flat=True)
    assert (row.state, list(states)) == ("pending", ["abandoned", "pending"])
    with pytest.raises(Conflict, match="The resource is pending: there is nothing to try again"):
        retry_resource("web", caller=samples.ADMIN, actor=samples.ACTOR)


def test_audit_and_events_name_the_steps_and_never_the_spec(agent: Agent) -> None:
    create_resource(ResourceRequest("web", "container", {"password": "hunter2"}), actor=samples.ACTOR)
    samples.send_all()
    samples.answer("creation-acknowledged", agent)
    samples.report("RUNNING")
    delete()
    samples.report("DELETED")

    types = list(
        Event.objects.filter(type__startswith="resource.").order_by("position").values_list("type", flat=True)
    )
    assert types == [
        "resource.assigned",
        "resource.requested",
        "resource.provisioning",
        "resource.running",
        "resource.deleting",
        "resource.deletion_requested",
        "resource.deleted",
    ]
    records = AuditRecord.objects.filter(object_type="resource").order_by("id")
    assert [record.action for record in records] == ["resource.requested", "resource.deletion_requested"]
    everything = (
        f"{list(records.values())} {list(Event.objects.values())} {list(TimelineRow.objects.values())}"
    )
    assert "hunter2" not in everything


def test_old_records_are_deleted_and_young_ones_kept(agent: Agent, settings: object) -> None:
    run(agent)
    delete(force=True)
    assert retention.delete_old() == 0
    ResourceRow.objects.update(deleted_at=Now() - timedelta(days=31))
    OutboxMessage.objects.update(settled_at=Now() - timedelta(days=8))
    InboxEntry.objects.update(received_at=Now() - timedelta(days=15))
    AssignmentRow.objects.update(state="withdrawn")
    retention.delete_old()
    assert (ResourceRow.objects.count(), OutboxMessage.objects.count(), InboxEntry.objects.count()) == (
        1,
        0,
        0,
    )
    AssignmentRow.objects.update(state="closed")
    DeadLetter.objects.create(stream="s", sequence=1, subject="a", payload=b"")
    DeadLetter.objects.create(stream="s", sequence=2, subject="b", payload=b"")
    DeadLetter.objects.filter(subject="a").update(at=Now() - timedelta(days=91))
    retention.delete_old()
    assert list(DeadLetter.objects.values_list("subject", flat=True)) == ["b"]
    assert [model.objects.count() for model in (ResourceRow, AssignmentRow, TimelineRow)] == [0, 0, 0]


def test_a_profile_shapes_the_spec_that_is_sent(agent: Agent, settings: object) -> None:
    settings.DISPATCH_SERVICE_TYPES = {"container": Profile(id_pointer="/metadata/id", envelope="spec")}  # type: ignore[attr-defined]
    samples.request()
    sent = OutboxMessage.objects.get().data["spec"]
    assert sent == {"spec": {"image": "nginx", "metadata": {"id": "web"}}}
    assert ResourceRow.objects.get().spec == {"image": "nginx"}
    with pytest.raises(InvalidRequest, match="The spec is not valid for container"):
        create_resource(ResourceRequest("api", "container", {"metadata": 1}), actor=samples.ACTOR)


def test_commands_follow_an_agent_to_its_new_topic(agent: Agent) -> None:
    run(agent)
    Agent.objects.update(topic_name="dcm.agent.moved")
    delete()
    assert OutboxMessage.objects.get(event_type="dcm.request.delete").destination == "dcm.agent.moved"
