"""Requests of people and answers of agents at the same moment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import Any

import pytest
from django.db import connection

from controlplane.access.models import AuditRecord
from controlplane.messaging.envelope import Envelope
from controlplane.messaging.models import OutboxMessage
from registry.dispatch.inbound.receiving import Sender, receive_message
from registry.dispatch.models import AssignmentRow, ResourceRow
from tests.support.api_client import AGENT, Api, token_for

pytestmark = pytest.mark.django_db(transaction=True)
BODY = {"service_type": "vm", "spec": {}}


@pytest.fixture
def admin(transactional_db: None) -> Api:
    admin = Api(token_for("admin"))
    assert admin.post("agents", AGENT).status_code == 201
    return admin


def at_once(steps: Sequence[Callable[[], Any]]) -> list[Any]:
    """Run the steps in threads that start together."""
    barrier = Barrier(len(steps))

    def run(step: Callable[[], Any]) -> Any:
        try:
            barrier.wait(60)
            return step()
        finally:
            connection.close()

    with ThreadPoolExecutor(len(steps)) as pool:
        return list(pool.map(run, steps))


def acknowledge(resource_id: str) -> bool:
    data = {"resource_id": resource_id, "agent_name": AGENT["name"]}
    envelope = Envelope(f"a-{resource_id}", "dcm/agents/a1", "dcm.agent.creation-acknowledged", data)
    return receive_message(envelope, Sender())


def test_of_two_requests_with_one_id_one_is_accepted(admin):
    for number in range(3):
        answers = at_once([lambda n=number: admin.post(f"resources?id=web-{n}", BODY)] * 2)
        assert sorted(answer.status_code for answer in answers) == [202, 409]
        assert [a.json()["code"] for a in answers if a.status_code == 409] == ["name_taken"]
    assert (ResourceRow.objects.count(), AssignmentRow.objects.count()) == (3, 3)
    assert OutboxMessage.objects.count() == 3


def test_a_key_used_ten_times_at_once_has_one_effect(admin):
    answers = at_once([lambda: admin.post("resources", BODY, Idempotency_Key="k")] * 10)

    accepted = [answer for answer in answers if answer.status_code == 202]
    assert len({answer.json()["id"] for answer in accepted}) == 1
    others = {answer.json()["code"] for answer in answers if answer.status_code != 202}
    assert others <= {"idempotency_key_in_flight"}
    assert (ResourceRow.objects.count(), OutboxMessage.objects.count()) == (1, 1)
    assert AuditRecord.objects.filter(action="resource.requested").count() == 1


def test_a_deletion_wins_over_an_answer_that_arrives_with_it(admin):
    for number in range(4):
        resource_id = f"web-{number}"
        admin.post(f"resources?id={resource_id}", BODY)
        deleted, applied = at_once(
            [lambda i=resource_id: admin.delete(f"resources/{i}"), lambda i=resource_id: acknowledge(i)]
        )
        assert (deleted.status_code, applied) == (202, True)
        row = ResourceRow.objects.get(id=resource_id)
        assert (row.goal, row.state) == ("deleted", "deleting")
        deletions = OutboxMessage.objects.filter(event_id=f"{resource_id}.d1", settled_at=None)
        assert deletions.count() == 1
        assert AssignmentRow.objects.get(resource=row).state == "withdrawn"


def test_cancel_retry_and_delete_at_once_leave_one_of_their_results(admin):
    for number in range(4):
        resource_id = f"web-{number}"
        admin.post(f"resources?id={resource_id}", BODY)
        path = f"resources/{resource_id}"
        answers = at_once(
            [
                lambda p=path: admin.post(f"{p}:cancel"),
                lambda p=path: admin.post(f"{p}:retry"),
                lambda p=path: admin.delete(p),
            ]
        )
        assert {answer.status_code for answer in answers} <= {202, 409}
        assert answers[2].status_code == 202
        row = ResourceRow.objects.get(id=resource_id)
        assert (row.goal, row.state) == ("deleted", "deleting")
        live = AssignmentRow.objects.filter(resource=row, state__in=("pending", "queued"))
        assert not live.exists()


def test_ten_deletions_at_once_send_one(admin):
    admin.post("resources?id=web", BODY)

    answers = at_once([lambda: admin.delete("resources/web")] * 10)

    assert {answer.status_code for answer in answers} == {202}
    assert OutboxMessage.objects.filter(event_id="web.d1").count() == 1
    assert AuditRecord.objects.filter(action="resource.deletion_requested").count() == 1
