"""`cpctl listen` and `cpctl events follow --cloudevents`: what webhooks get, without a sink."""

from __future__ import annotations

import json
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from controlplane.delivery.changes import with_change
from controlplane.delivery.cloudevents import Origin, structured
from controlplane.delivery.dispatcher import read_events
from controlplane.events import log
from cpctl.exits import Exit
from overrides.event_types import PROJECT_CREATED
from tests.support.api_client import token_for
from tests.support.cpctl_runner import Cpctl
from tests.support.waiting import until
from tests.support.webhook_receiver import Receiver, Reply, running_receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


def append(project: str) -> None:
    """An event whose object has a name beyond ASCII, which projects may not have."""
    with transaction.atomic():
        log.append(PROJECT_CREATED, "project", project, data={"project": project}, actor="test")


def test_events_are_forwarded_signed_and_equal_to_those_of_webhooks(
    live: Any, tmp_path: Path, receiver: Receiver
) -> None:
    cpctl = Cpctl(tmp_path, live.url, token_for("admin"))
    after = str(log.last_number())
    receiver.reply = lambda request: Reply(302 if "broken" in request.event["subject"] else 204)
    listener = cpctl.start("listen", "--forward", receiver.url, "--types", "project.*", "--after", after)
    follower = cpctl.start("events", "follow", "--cloudevents", "--type", "project.created", "--after", after)
    try:
        assert listener.stdout
        assert follower.stdout
        secret = listener.stdout.readline().removeprefix("Secret: ").strip()
        append("märz")
        token_for("viewer")
        append("broken")
        until(lambda: len(receiver.received) == 2)
        lines = [listener.stdout.readline() for _ in range(2)]
        followed = [json.loads(follower.stdout.readline()) for _ in range(2)]
        for process in (listener, follower):
            process.send_signal(signal.SIGINT)
        assert {process.wait(60) for process in (listener, follower)} == {Exit.INTERRUPTED}
    finally:
        for process in (listener, follower):
            process.kill()
            process.communicate()

    events = [event for event in read_events(int(after), 50) if event.object_type == "project"]
    assert [request.body for request in receiver.received] == [
        structured(with_change(event, None, Origin(live.url)), Origin(live.url)) for event in events
    ]
    assert followed == [request.event for request in receiver.received]
    for request in receiver.received:
        assert Webhook(secret).verify(request.body, request.headers)["specversion"] == "1.0"
    with pytest.raises(WebhookVerificationError):
        Webhook(secret).verify(receiver.received[0].body + b" ", receiver.received[0].headers)
    assert ["204 in" in lines[0], "302 in" in lines[1]] == [True, True]
    assert "project.created   project/m%C3%A4rz" in lines[0]
