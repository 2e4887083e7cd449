"""Channels as people handle them: sinks of kinds that get messages alone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet

from controlplane.access.team_models import Team
from controlplane.database.clock import statement_now
from controlplane.delivery import sinks
from controlplane.delivery.kinds import Message, Sent, channel_kind_names, invalid_setting, kind_named
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.models import Sink, SinkState
from controlplane.delivery.origins import origin
from controlplane.delivery.sink_secrets import secrets_of
from controlplane.delivery.sink_terms import SinkTerms
from controlplane.errors import InvalidRequest, StillInUse, UnknownNotificationChannel
from controlplane.events import log
from controlplane.identity.actors import Actor
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.ids import uuid7
from controlplane.notifications.channels import channel_named, stored_kind
from controlplane.notifications.event_types import MESSAGE, Step
from controlplane.notifications.messages import alerts_url
from controlplane.notifications.models import NotificationRule
from controlplane.preconditions import Precondition
from controlplane.scopes import Scope


@dataclass(frozen=True, slots=True)
class ChannelTerms:
    """What people write of a channel. credentials: None keeps those that are there."""

    name: str
    kind: str
    config: Mapping[str, Any] = field(default_factory=dict)
    credentials: Mapping[str, str] | None = None

    def as_sink(self) -> SinkTerms:
        return SinkTerms(
            name=self.name, kind=stored_kind(self.kind), config=self.config, credentials=self.credentials
        )


def visible_channels(caller: Caller) -> QuerySet[Sink]:
    """Return the channels that the caller may read."""
    rows = Sink.objects.within(caller, Action.NOTIFICATION_READ).filter(kind__in=channel_kind_names())
    return rows.select_related("team", "created_by", "progress")


def get_channel(caller: Caller, channel_id: UUID, action: Action = Action.NOTIFICATION_READ) -> Sink:
    """Return a channel on which the caller may perform the action. Raises UnknownNotificationChannel."""
    channel = visible_channels(caller).filter(id=channel_id).first()
    if channel is None:
        raise UnknownNotificationChannel(
            f"There is no channel {channel_id}. `GET /api/v1/notification-channels` lists yours."
        )
    caller.require(action, owner=channel.team_id)
    return channel


def create_channel(terms: ChannelTerms, *, team: Team | None, actor: Actor) -> tuple[Sink, str]:
    """Create a channel; return it with the signing secret of a webhook, or an empty one."""
    return sinks.create_sink(terms.as_sink(), team=team, actor=actor)


def change_channel(
    channel: Sink, terms: ChannelTerms, *, precondition: Precondition | None, actor: Actor
) -> Sink:
    """Replace what people write of a channel. Raises InvalidRequest, NameTaken, VersionMismatch."""
    return sinks.change_sink(
        channel,
        terms.as_sink(),
        precondition=precondition,
        actor=actor,
        check_stored=partial(_check_holder, terms),
    )


def _check_holder(terms: ChannelTerms, stored: Sink) -> None:
    """Raise InvalidRequest if stored credentials would go to another server, whose owner could read them."""
    kind = channel_named(stored.kind)
    if (
        kind is None
        or terms.credentials is not None
        or kind.holder(stored.config) == kind.holder(terms.config)
    ):
        return
    raise invalid_setting("/credentials", "Give the credentials again: another server gets them.")


@transaction.atomic
def delete_channel(channel: Sink, *, precondition: Precondition | None, actor: Actor) -> None:
    """Delete a channel with its deliveries. Raises StillInUse while rules send to it."""
    users = NotificationRule.objects.filter(to__contains=[str(channel.id)]).values_list("name", flat=True)
    if users:
        raise StillInUse(f"These rules send to the channel: {', '.join(users[:5])}. Change them first.")
    sinks.delete_sink(channel, precondition=precondition, actor=actor)


def kind_of_channel(channel: Sink) -> str:
    """Return the kind as people write it."""
    registered = channel_named(channel.kind)
    return registered.name if registered else channel.kind


def resume_channel(channel: Sink, *, actor: Actor) -> Sink:
    """Send through a channel again after it was switched off."""
    return sinks.resume_sink(channel, actor=actor) if channel.state != SinkState.ACTIVE else channel


def test_channel(channel: Sink) -> list[tuple[str, Sent]]:
    """Send a message now, outside of the queue; return what came of it for each recipient."""
    kind, registered = kind_named(channel.kind), channel_named(channel.kind)
    if kind is None or registered is None:
        raise InvalidRequest(f"This installation has no channels of kind {channel.kind}.")
    sender = kind.open(channel.config, secrets_of(channel))
    try:
        return [
            (recipient, sender.send(_test_message(channel, recipient)))
            for recipient in registered.recipients(channel.config)
        ]
    finally:
        sender.close()


def _test_message(channel: Sink, recipient: str) -> Message:
    now, key = statement_now(), str(uuid7())
    data = {
        "message": key,
        "channel": str(channel.id),
        "recipient": recipient,
        "rule": "test",
        "step": Step.TRIGGER.value,
        "revision": 0,
        "severity": "info",
        "subject": f"Test of the channel {channel.name}",
        "text": "A test of this channel. Nothing has happened.",
        "total": 1,
        "firing": 1,
        "url": alerts_url(),
    }
    event = LoggedEvent(
        id=uuid7(),
        seq=log.last_given(),
        type=MESSAGE.name,
        at=now,
        object_type="notification",
        object_id=key,
        scope=Scope(),
        team=channel.team.slug if channel.team else "",
        team_id=channel.team_id,
        actor="system:test",
        request_id="",
        data=data,
    )
    return Message(event, origin(), key, now)
