"""NATS JetStream as a kind of sink: CloudEvents in binary mode, delivered once the stream has stored them.

Events go to this installation's NATS, to `cp.events.<team or platform>.<object type>.<event>`, or to the
servers of the sink's settings. JetStream drops an event that it has seen in the last ten minutes.
"""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import quote, urlsplit

from django.conf import settings

from controlplane.delivery.cloudevents import binary
from controlplane.delivery.flavours import Flavour, Transport
from controlplane.delivery.kinds import Message, Sent, SinkKind, SinkSecrets, invalid_setting, register_kind
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.delivery.models import Sink
from controlplane.delivery.schedule import Answer, Result
from controlplane.errors import InvalidRequest, RemoteFailed
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import (
    CANNOT_STORE,
    NO_STREAM,
    UNREACHABLE,
    NatsRefused,
    NatsUnavailable,
    StreamSpec,
    ToPublish,
    is_outage,
)
from controlplane.messaging.streams import provide_streams
from controlplane.outgoing import allowed_networks, check_target

SUBJECT = "cp.events"
EVENTS_STREAM = StreamSpec(
    "cp-events",
    (f"{SUBJECT}.>",),
    "limits",
    max_age_seconds=7 * 24 * 3600,
    max_bytes=10 * 2**30,
    duplicate_window_seconds=600,
)
_SETTINGS = frozenset({"subject", "servers", "user"})
_CREDENTIALS = frozenset({"password", "token"})
# A stream whose leader dies has another one within a few seconds; until then nothing is confirmed.
_TIMEOUT_SECONDS, _CONNECT_SECONDS = 4.0, 2.0
_TOKEN = re.compile(r"[^A-Za-z0-9_-]")
_PREFIX = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
_PORT = 4222
_PLATFORM = "platform"


def subject_of(event: LoggedEvent, prefix: str) -> str:
    """Return the subject of an event. Characters that subjects cannot have become `_`.

    Names of teams have no `_`, so that a team called platform is not taken for the platform.
    """
    team = f"{event.team}_" if event.team == _PLATFORM else event.team or _PLATFORM
    parts = (team, event.object_type, event.type.partition(".")[2])
    return ".".join([prefix, *(_TOKEN.sub("_", part) or "_" for part in parts)])


class NatsSender:
    """Publishes to one server or cluster. subject: where subjects begin."""

    def __init__(self, connection: SharedConnection, subject: str) -> None:
        self._connection, self._subject = connection, subject

    def send(self, message: Message) -> Sent:
        headers, body, subject = self._content(message)
        if message.is_replay:
            headers["cp-replay"] = "true"
        headers |= message.trace_headers
        to_publish = ToPublish(subject, body, self._message_id(message), headers)
        began = time.monotonic()
        error = self._connection.publish(to_publish)
        milliseconds = round(1000 * (time.monotonic() - began))
        return Sent(Answer(_result_of(error), error=error, milliseconds=milliseconds), headers)

    def _content(self, message: Message) -> tuple[dict[str, str], bytes, str]:
        """Return headers, body and subject."""
        if (foreign := message.foreign(Transport.NATS)) is not None:
            # Other products have one subject for all of their events. The stream stores what is below ours.
            is_bare = self._subject == SUBJECT
            subject = f"{SUBJECT}.{message.flavour.product}" if is_bare else self._subject
            return dict(foreign.headers), foreign.body, subject
        headers, body = binary(message.event, message.origin, prefix="ce-", key=message.key)
        return headers, body, subject_of(message.event, self._subject)

    def _message_id(self, message: Message) -> str:
        """Return the event's id, with what else makes it another message.

        JetStream drops what has an id that its stream knows: a replay, or the event of a second sink with
        another subject or flavour, would count as delivered without being stored.
        """
        parts = [str(message.event.id)]
        parts += [self._subject] if self._subject != SUBJECT else []
        parts += [message.flavour] if message.flavour is not Flavour.NATIVE else []
        parts += [message.attempted_at.isoformat()] if message.is_replay else []
        return "-".join(parts)

    def close(self) -> None:
        self._connection.give_back()


def _result_of(error: str) -> Result:
    if not error:
        return Result.DELIVERED
    return Result.OUTAGE if is_outage(error) else Result.CLIENT_ERROR


class SharedConnection:
    """A connection to one address, used by all sinks of this process that have the same address."""

    _open: dict[str, SharedConnection] = {}
    _lock = threading.Lock()

    def __init__(self, url: str, *, is_own: bool) -> None:
        self._url, self._is_own, self._users = url, is_own, 0
        self._nats = NatsConnection(url, name="events")

    @classmethod
    def take(cls, url: str, *, is_own: bool) -> SharedConnection:
        with cls._lock:
            if url not in cls._open:
                cls._open[url] = cls(url, is_own=is_own)
                cls._open[url]._nats.__enter__()
            cls._open[url]._users += 1
            return cls._open[url]

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            is_last = self._users == 0
            if is_last:
                del self._open[self._url]
        if is_last:
            self._nats.__exit__(None, None, None)

    def publish(self, message: ToPublish) -> str:
        """Have a message stored; return an error, or "". Our own stream is created if it is missing."""
        try:
            self._nats.wait_connected(_CONNECT_SECONDS)
            (error,) = self._nats.publish([message], timeout=_TIMEOUT_SECONDS)
            if error == NO_STREAM and self._is_own:
                self._nats.ensure_stream(replace(EVENTS_STREAM, replicas=settings.NATS_REPLICAS))
                (error,) = self._nats.publish([message], timeout=_TIMEOUT_SECONDS)
        except NatsUnavailable:
            return UNREACHABLE
        except NatsRefused as refusal:
            return f"{CANNOT_STORE}{refusal}."
        return error


def _check(config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
    for name in config.keys() - _SETTINGS:
        raise invalid_setting(f"/config/{name}", f"A sink of kind nats has no setting {name}.")
    for name in credentials.keys() - _CREDENTIALS:
        message = f"A sink of kind nats has no credential {name}; it has password and token."
        raise invalid_setting(f"/credentials/{name}", message)
    subject, servers = str(config.get("subject", SUBJECT)), config.get("servers", ())
    if not _PREFIX.fullmatch(subject):
        message = "A subject has letters, digits, - and _, in parts separated by dots."
        raise invalid_setting("/config/subject", message)
    if not servers and f"{subject}.".removeprefix(f"{SUBJECT}.") == f"{subject}.":
        message = f"At this installation's NATS, subjects begin with {SUBJECT}."
        raise invalid_setting("/config/subject", message)
    _addresses(servers, config.get("user", ""), credentials)


def _addresses(servers: Sequence[str], user: str, credentials: Mapping[str, str]) -> list[str]:
    """Return the servers' checked addresses with credentials, as the client takes them.

    Raises InvalidRequest. The name of a server with TLS stays, since its certificate proves who it is.
    """
    login = f"{quote(user, safe='')}:{quote(credentials.get('password', ''), safe='')}@" if user else ""
    if credentials.get("token"):
        login = f"{quote(credentials['token'], safe='')}@"
    return [_address(f"/config/servers/{number}", server, login) for number, server in enumerate(servers)]


def _address(pointer: str, server: str, login: str) -> str:
    parts = urlsplit(server if "://" in server else f"nats://{server}")
    if parts.scheme not in ("nats", "tls") or not parts.hostname or parts.username:
        raise invalid_setting(pointer, "A server is written nats://host:4222 or tls://host:4222.")
    try:
        # The guard of outgoing requests reads web addresses.
        target = check_target(f"https://{parts.netloc}", allowed_networks())
        host = parts.hostname if parts.scheme == "tls" else target.address
        return f"{parts.scheme}://{login}{f'[{host}]' if ':' in host else host}:{parts.port or _PORT}"
    except (InvalidRequest, RemoteFailed, ValueError) as error:
        raise invalid_setting(pointer, str(error)) from error


def _open(config: Mapping[str, Any], secrets: SinkSecrets) -> NatsSender:
    subject, servers = config.get("subject", SUBJECT), config.get("servers", ())
    if not servers:
        return NatsSender(SharedConnection.take(settings.NATS_URL, is_own=True), subject)
    addresses = _addresses(servers, config.get("user", ""), secrets.credentials)
    return NatsSender(SharedConnection.take(",".join(addresses), is_own=False), subject)


def _chooses_subjects(config: Mapping[str, Any]) -> bool:
    """True if a sink has subjects of its own at this installation's NATS, where other teams' are too."""
    return not config.get("servers") and config.get("subject", SUBJECT) != SUBJECT


NATS = register_kind(SinkKind("nats", _check, _open, is_of_platform=_chooses_subjects))


def needed_streams() -> list[StreamSpec]:
    """Return our stream if a sink needs it."""
    of_ours = Sink.objects.filter(kind=NATS.name).exclude(config__has_key="servers")
    return [EVENTS_STREAM] if of_ours.exists() else []


provide_streams(needed_streams)
