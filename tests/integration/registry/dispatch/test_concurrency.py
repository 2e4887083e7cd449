"""Answer, sweep, deletion, retry and relay on the same resource at the same time, with real connections."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.db import connection, transaction
from django.db.models.functions import Now

from controlplane.errors import Conflict
from controlplane.messaging import outbox
from controlplane.messaging.envelope import Envelope
from controlplane.messaging.models import OutboxMessage
from registry.dispatch.inbound.receiving import Sender, receive_message
from registry.dispatch.models import AssignmentRow, ResourceRow
from registry.dispatch.resources.requests import cancel_resource, delete_resource, retry_resource
from registry.dispatch.sweep import sweep_resources
from tests.support import dispatch_samples as samples

pytestmark = pytest.mark.django_db(transaction=True)


def at_once(*acts: Callable[[], object]) -> None:
    """Run all at the same time; Conflict is a possible answer, any other error is not."""
    start = Barrier(len(acts))

    def run(act: Callable[[], object]) -> None:
        try:
            start.wait(timeout=60)
            act()
        except Conflict:
            pass
        finally:
            connection.close()

    with ThreadPoolExecutor(len(acts)) as threads:
        for future in [threads.submit(run, act) for act in acts]:
            future.result(timeout=30)


def relay() -> None:
    for _ in range(5):
        with transaction.atomic():
            outbox.mark_sent([message.position for message in outbox.claim(10)])


def some_ids() -> Iterator[str]:
    return (f"r{number}" for number in range(3))


def test_answer_sweep_deletion_and_retry_of_one_resource_at_once() -> None:
    samples.end_grace()
    alpha = samples.make_agent("alpha")
    samples.make_agent("beta", cost="high")
    for resource_id in some_ids():
        samples.request(resource_id)
        samples.send_all()
        ResourceRow.objects.update(due_at=Now() - timedelta(minutes=1))
        AssignmentRow.objects.update(sent_at=Now() - timedelta(hours=1), tries=9)
        person = {"caller": samples.ADMIN, "actor": samples.ACTOR}
        at_once(
            lambda: samples.answer("creation-acknowledged", alpha, resource_id),  # noqa: B023
            lambda: samples.answer("error", alpha, resource_id),  # noqa: B023
            sweep_resources,
            sweep_resources,
            relay,
            lambda: retry_resource(resource_id, **person),  # type: ignore[arg-type]  # noqa: B023
            lambda: cancel_resource(resource_id, **person),  # type: ignore[arg-type]  # noqa: B023
            lambda: delete_resource(resource_id, force=False, **person),  # type: ignore[arg-type]  # noqa: B023
        )

        row = ResourceRow.objects.get(id=resource_id)
        wanted = AssignmentRow.objects.filter(resource=row).exclude(
            state__in=["withdrawn", "closed", "stuck"]
        )
        assert (row.goal, row.state, wanted.count()) in {
            ("deleted", "deleting", 0),
            ("deleted", "deleted", 0),
        }
        deletions = OutboxMessage.objects.filter(
            event_type="dcm.request.delete", data__resource_id=resource_id
        )
        unsettled = AssignmentRow.objects.filter(resource=row, state="withdrawn")
        assert {one.data["epoch"] for one in deletions} >= set(unsettled.values_list("epoch", flat=True))


def test_two_sweeps_send_each_request_once() -> None:
    samples.end_grace()
    samples.make_agent("alpha")
    for resource_id in some_ids():
        samples.request(resource_id)
    samples.send_all()
    ResourceRow.objects.update(due_at=Now() - timedelta(minutes=1))
    AssignmentRow.objects.update(sent_at=Now() - timedelta(minutes=1))

    at_once(sweep_resources, sweep_resources, sweep_resources)

    assert OutboxMessage.objects.filter(sent_at=None).count() == 3
    assert set(AssignmentRow.objects.values_list("tries", flat=True)) == {2}


def test_a_repeated_answer_has_its_effect_once() -> None:
    agent = samples.make_agent("alpha")
    samples.request()
    body = {"resource_id": "web", "agent_name": "alpha"}
    event = Envelope("e1", "a", "dcm.agent.creation-acknowledged", body)
    applied: list[bool] = []

    at_once(*[lambda: applied.append(receive_message(event, Sender()))] * 4)

    assert sorted(applied) == [False, False, False, True]
    assert agent.name == AssignmentRow.objects.get().agent_name
