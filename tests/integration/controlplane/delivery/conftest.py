from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from django.db import transaction

from controlplane.access.models import Principal
from controlplane.delivery.dispatcher import dispatch_batch
from controlplane.delivery.models import Delivery, DeliveryState, Sink, SinkProgress
from controlplane.delivery.relay import EventRelay
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.delivery.sinks import create_sink
from controlplane.events import log
from controlplane.events.audiences import declare_audience
from controlplane.events.types import TEXT, register
from controlplane.identity.actors import Actor
from controlplane.identity.roles import Action
from controlplane.scopes import Scope
from tests.support.api_client import make_principal
from tests.support.webhook_receiver import Receiver, running_receiver

# Of people who may read audit records: a kind without an audience is not shown to anybody.
declare_audience("thing", Action.AUDIT_READ)
THING_MOVED = register("thing.moved", "Something in a test moved.", to=TEXT)


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as receiver:
        yield receiver


@pytest.fixture(autouse=True)
def _settings(settings: Any) -> None:
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.WEBHOOK_ALLOW_HTTP = True
    settings.WEBHOOK_TIMEOUT_SECONDS = 5


@pytest.fixture
def creator() -> Principal:
    return make_principal("admin")


MakeSink = Callable[..., Sink]


@pytest.fixture
def make_sink(creator: Principal, receiver: Receiver) -> MakeSink:
    def make(name: str = "audit", *, secret: str = "", url: str = "", **terms: Any) -> Sink:
        destination = {"url": url or receiver.url}
        given = SinkTerms(name=name, **{"config": destination, "per_second": 1000, **terms})
        actor = Actor(creator.id, creator.name)
        return create_sink(given, team=None, actor=actor, secret=secret)[0]

    return make


def move(*things: str, to: str = "x", scope: Scope = Scope()) -> None:
    """Append an event per thing, in one transaction each."""
    for thing in things:
        with transaction.atomic():
            log.append(THING_MOVED, "thing", thing, data={"to": to}, actor="test", scope=scope)


def dispatch_all() -> None:
    while dispatch_batch():
        pass


class Relays:
    """A relay in this process, called step by step."""

    def __init__(self) -> None:
        self.relay = EventRelay()

    def until(self, condition: Callable[[], bool], seconds: float = 60) -> None:
        deadline = time.monotonic() + seconds
        while not condition():
            errors = SinkProgress.objects.values_list("last_error", flat=True)
            assert time.monotonic() < deadline, (list(errors), list(Delivery.objects.values()[:3]))
            time.sleep(min(self.relay.step(), 0.02))

    def until_settled(self) -> None:
        """Until nothing waits."""
        self.until(lambda: not Delivery.objects.filter(state=DeliveryState.WAITING).exists())

    def until_tried(self, number: int = 1) -> None:
        """Until so many deliveries were tried."""
        self.until(lambda: Delivery.objects.filter(attempt__gt=0).count() >= number)


@pytest.fixture
def relays() -> Iterator[Relays]:
    relays = Relays()
    yield relays
    relays.relay._threads.shutdown(wait=False, cancel_futures=True)
    relays.relay._receivers.close()
