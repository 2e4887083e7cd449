from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import msgspec
import pytest
from django.db import transaction
from django.db.models import F

from controlplane.access.authentication import caller_for
from controlplane.access.models import Principal
from controlplane.delivery.models import Delivery, DeliveryState, Lane, Sink
from controlplane.delivery.relay import EventRelay
from controlplane.events import log
from controlplane.events.models import Event
from controlplane.identity.actors import Actor
from controlplane.notifications.channel_changes import ChannelTerms, create_channel
from controlplane.notifications.engine import Engine
from controlplane.notifications.models import Alert, NotificationMessage, NotificationRule
from controlplane.notifications.rule_changes import create_rule
from controlplane.notifications.rules import RuleSpec
from registry.agents.event_types import BY_STATE
from registry.agents.states import State
from tests.support.api_client import make_principal
from tests.support.webhook_receiver import Receiver, Reply, running_receiver

ROUTING_KEY = "0123456789abcdef0123456789abcdef"


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A recording server in the place of Slack, PagerDuty or a webhook's receiver."""
    with running_receiver() as receiver:
        receiver.reply = lambda request: Reply(body=b'{"ok":true,"channel":"C1","ts":"1700000000.000100"}')
        yield receiver


@pytest.fixture(autouse=True)
def _settings(settings: Any, receiver: Receiver) -> None:
    base = receiver.url.removesuffix("/hook")
    settings.OUTGOING_ALLOWED_NETWORKS = ["127.0.0.0/8"]
    settings.WEBHOOK_ALLOW_HTTP = True
    settings.WEBHOOK_TIMEOUT_SECONDS = 5
    settings.SLACK_API_URL = f"{base}/api"
    settings.PAGERDUTY_URL = base


@pytest.fixture
def creator() -> Principal:
    return make_principal("admin")


def actor_of(creator: Principal) -> Actor:
    return Actor(creator.id, creator.name)


MakeChannel = Callable[..., Sink]
MakeRule = Callable[..., NotificationRule]


@pytest.fixture
def make_channel(creator: Principal, receiver: Receiver) -> MakeChannel:
    def make(kind: str = "slack", name: str = "", **terms: Any) -> Sink:
        given = {"slack": slack_bot, "pagerduty": pagerduty}.get(kind, lambda: {})()
        given |= {"config": {"url": receiver.url}} if kind == "webhook" else {}
        channel = ChannelTerms(name or kind, kind, **{**given, **terms})
        sink = create_channel(channel, team=None, actor=actor_of(creator))[0]
        Sink.objects.filter(id=sink.id).update(per_second=1000)
        return sink

    return make


def slack_bot() -> dict[str, Any]:
    return {
        "config": {"conversation": "#alerts"},
        "credentials": {"bot_token": "xoxb-test", "signing_secret": "slack-secret"},
    }


def pagerduty() -> dict[str, Any]:
    return {"credentials": {"routing_key": ROUTING_KEY}}


@pytest.fixture
def make_rule(creator: Principal) -> MakeRule:
    def make(*channels: Sink, name: str = "agents", types: list[str] | None = None, **terms: Any) -> Any:
        when = {"types": types or ["agent.unavailable"], **terms.pop("when", {})}
        spec = RuleSpec(name=name, when=when, to=tuple(channel.id for channel in channels), **terms)
        return create_rule(spec, team=None, caller=caller_for(creator), actor=actor_of(creator))

    return make


def report(state: State, *names: str, environment: str = "prod") -> None:
    """Append an event per agent, as a transition of its state does."""
    entries = [
        log.Entry(
            BY_STATE[state],
            "agent",
            name,
            {
                "agent_id": name,
                "name": name,
                "environment": environment,
                "from": "ready",
                "reason": "lease expired",
            },
            "system:sweep",
        )
        for name in names
    ]
    with transaction.atomic():
        log.append_each(entries)


def pass_time(seconds: float) -> None:
    """Have everything that was noted so far have happened so much earlier."""
    earlier = timedelta(seconds=seconds)
    Alert.objects.update(first_at=F("first_at") - earlier, last_at=F("last_at") - earlier)
    NotificationMessage.objects.update(
        sent_at=F("sent_at") - earlier,
        last_sent_at=F("last_sent_at") - earlier,
        update_at=F("update_at") - earlier,
        escalate_at=F("escalate_at") - earlier,
    )


class Office:
    """The engine and a relay in this process, called step by step."""

    def __init__(self) -> None:
        self.engine, self.relay = Engine(), EventRelay()

    def run(self) -> None:
        """Until the engine has nothing to do now, and everything that waits was sent."""
        while True:
            done = self.engine.step()
            if not done.events and not done.messages:
                break
        deadline = time.monotonic() + 30
        while Delivery.objects.filter(state=DeliveryState.WAITING, attempt=0).exists():
            assert time.monotonic() < deadline, (list(Delivery.objects.values()), list(Lane.objects.values()))
            time.sleep(min(self.relay.step(), 0.02))


@pytest.fixture
def office() -> Iterator[Office]:
    office = Office()
    office.engine.step()
    yield office
    office.relay._threads.shutdown(wait=False, cancel_futures=True)


def messages() -> list[dict[str, Any]]:
    """Return the data of all messages so far."""
    log.number_committed()
    return list(
        Event.objects.filter(type="notification.message").order_by("seq").values_list("data", flat=True)
    )


def bodies(receiver: Receiver) -> list[Any]:
    return [msgspec.json.decode(request.body) for request in receiver.received]
