"""Google Pub/Sub as a kind of sink: CloudEvents in binary mode, sent with the relay's own identity.

Requests of its REST API are sent by our own guarded client, which connects to checked addresses alone, has
one deadline for everything, and repeats nothing: the schedule of deliveries does.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from hashlib import sha256
from typing import Any
from urllib.parse import quote, urlsplit

import msgspec

from controlplane.delivery.ambient_identity import AmbientIdentity, Credentials, IdentityUnavailable
from controlplane.delivery.cloud_topics import (
    REQUEST_SECONDS,
    CloudKind,
    check_endpoint,
    check_installed,
    check_names,
)
from controlplane.delivery.cloudevents import STRUCTURED, attributes, structured
from controlplane.delivery.flavours import Transport
from controlplane.delivery.https_exchange import exchange
from controlplane.delivery.kinds import Message, Sent, SinkKind, SinkSecrets, invalid_setting, register_kind
from controlplane.delivery.schedule import Answer, Result, outage_if_away

_KIND = CloudKind("pubsub", "Pub/Sub", "gcp", "google.auth", ("project", "topic"))
_ENDPOINT = "https://pubsub.googleapis.com"
_GOOGLE = ".googleapis.com"
_SCOPE = "https://www.googleapis.com/auth/pubsub"
_PROJECT = re.compile(r"([a-z0-9.-]+:)?[a-z][a-z0-9-]{4,28}[a-z0-9]|[0-9]{1,20}")
_TOPIC = re.compile(r"(?!goog)[A-Za-z][A-Za-z0-9._~+%-]{2,254}")
# Of the whole request.
_MOST_BYTES = 10_000_000
# Bytes of an attribute, or of an ordering key.
_MOST_TEXT = 1024
# Before its end, a token is looked up again.
_SPARE_SECONDS, _LEAST_FRESH_SECONDS = 240.0, 10.0
_UNAUTHORIZED = 401
_SLOW_DOWN = ("RESOURCE_EXHAUSTED", "UNAVAILABLE", "DEADLINE_EXCEEDED", "ABORTED", "INTERNAL")
# Events of one key are in order: those of the whole installation, where a sink orders by scope.
_ROOT = "/"


def _look_up() -> Credentials[str]:
    """Return an access token of the ambient identity: a file, or the metadata of the machine."""
    import google.auth
    from google.auth.exceptions import DefaultCredentialsError
    from google.auth.transport.requests import Request

    try:
        credentials, _ = google.auth.default(scopes=[_SCOPE])
    except DefaultCredentialsError as error:
        message = "The relay has no credentials of Google. Give it a service account"
        raise IdentityUnavailable(f"{message} or GOOGLE_APPLICATION_CREDENTIALS.") from error
    credentials.refresh(Request())  # type: ignore[no-untyped-call]
    return Credentials(str(credentials.token), _fresh_seconds(credentials.expiry))


def _fresh_seconds(expiry: datetime | None) -> float:
    """Return for how long a token is used. expiry: in UTC without a time zone."""
    if expiry is None:
        return _LEAST_FRESH_SECONDS
    left = (expiry.replace(tzinfo=UTC) - datetime.now(UTC)).total_seconds()
    return max(_LEAST_FRESH_SECONDS, left - _SPARE_SECONDS)


GOOGLE_IDENTITY = AmbientIdentity("Google", _look_up)


@dataclass(frozen=True, slots=True)
class PubsubSender:
    """Publishes to one topic. endpoint: of the sink's settings; empty for Google's own."""

    project: str
    topic: str
    endpoint: str = ""

    def send(self, message: Message) -> Sent:
        publication = publication_of(message)
        body = msgspec.json.encode({"messages": [publication]})
        shown = dict(publication["attributes"])
        if len(body) > _MOST_BYTES:
            error = f"The event has {len(body)} bytes. Pub/Sub takes at most {_MOST_BYTES}."
            return Sent(Answer(Result.REFUSED, error=error), shown)
        headers = {"Content-Type": "application/json"}
        try:
            if _gets_token(self.endpoint or _ENDPOINT):
                headers["Authorization"] = f"Bearer {GOOGLE_IDENTITY.current()}"
        except IdentityUnavailable as error:
            return Sent(Answer(Result.OUTAGE, error=str(error)), shown)
        return self._publish(body, headers, shown)

    def _publish(self, body: bytes, headers: dict[str, str], shown: dict[str, str]) -> Sent:
        answered = exchange(self._url, body, headers, seconds=REQUEST_SECONDS, any_address=not self.endpoint)
        answer = answer_of(answered.answer, answered.body, f"projects/{self.project}/topics/{self.topic}")
        if answer.status == _UNAUTHORIZED:
            GOOGLE_IDENTITY.forget()
        return Sent(answer, shown, tls=answered.tls)

    @property
    def _url(self) -> str:
        project, topic = quote(self.project, safe=""), quote(self.topic, safe="")
        return f"{self.endpoint or _ENDPOINT}/v1/projects/{project}/topics/{topic}:publish"

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""


def _gets_token(endpoint: str) -> bool:
    """True for Google's own: who names another endpoint could read the token there."""
    parts = urlsplit(endpoint)
    return parts.scheme == "https" and (parts.hostname or "").endswith(_GOOGLE)


def publication_of(message: Message) -> dict[str, Any]:
    """Return an event as a PubsubMessage: a CloudEvent, or another product's message."""
    named, body = _content_of(message)
    # Without an order, each event has a key of its own: its id.
    is_ordered = message.key != str(message.event.id)
    return {
        "data": base64.b64encode(body).decode(),
        "attributes": named,
        **({"orderingKey": _ordering_key(message.key)} if is_ordered else {}),
    }


def _content_of(message: Message) -> tuple[dict[str, str], bytes]:
    """Return attributes and data, in binary mode unless an attribute is too long for that.

    Source: "Google Cloud Pub/Sub Protocol Binding for CloudEvents" 3.
    """
    if (foreign := message.foreign(Transport.PUBSUB)) is not None:
        return dict(foreign.headers), foreign.body
    replay = {"cp-replay": "true"} if message.is_replay else {}
    named = attributes(message.event, message.origin, key=message.key)
    if any(_is_too_long(text) for text in named.values()):
        body = structured(message.event, message.origin, key=message.key)
        return {"content-type": STRUCTURED, **replay}, body
    headers = {"content-type": named.pop("datacontenttype")}
    headers |= {f"ce-{name}": text for name, text in named.items()}
    return headers | replay, msgspec.json.encode(message.event.whole_data)


def _ordering_key(key: str) -> str:
    return sha256(key.encode()).hexdigest() if _is_too_long(key) else key or _ROOT


def _is_too_long(text: str) -> bool:
    return len(text.encode()) > _MOST_TEXT


class _Problem(msgspec.Struct):
    status: str = ""
    message: str = ""


class _Response(msgspec.Struct):
    messageIds: list[str] = []
    error: _Problem | None = None


def answer_of(answer: Answer, body: bytes, topic: str) -> Answer:
    """Return what the answer to a publish request means. Pure."""
    try:
        response = msgspec.json.decode(body, type=_Response)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        response = _Response()
    if answer.result is Result.DELIVERED:
        if response.messageIds:
            return answer
        return replace(answer, result=Result.OUTAGE, error="The endpoint did not confirm the event.")
    if answer.status == _UNAUTHORIZED:
        error = "Pub/Sub does not accept the relay's credentials."
        return replace(answer, result=Result.OUTAGE, error=error)
    problem = response.error
    return outage_if_away(_refusal(answer, problem, topic) if problem and problem.status else answer)


def _refusal(answer: Answer, problem: _Problem, topic: str) -> Answer:
    if problem.status == "NOT_FOUND":
        return replace(answer, result=Result.TOPIC_MISSING, error=f"Pub/Sub has no topic {topic}.")
    result = Result.OUTAGE if problem.status in _SLOW_DOWN else answer.result
    # Postgres takes no NUL.
    text = f"{problem.status}: {problem.message}".replace("\0", "\N{REPLACEMENT CHARACTER}").rstrip(".")
    return replace(answer, result=result, error=f"Pub/Sub refused the event: {text}.")


def _check(config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
    check_names(_KIND, config, credentials)
    if not _PROJECT.fullmatch(config["project"]):
        message = "A project is named by its id, such as my-project-1: 6 to 30 lower-case letters, digits, -."
        raise invalid_setting("/config/project", message)
    if not _TOPIC.fullmatch(config["topic"]):
        message = "A topic begins with a letter, but not with goog, and has 3 to 255 letters, digits, -_.~+%."
        raise invalid_setting("/config/topic", message)
    check_installed(_KIND)
    check_endpoint(config.get("endpoint", ""))


def _open(config: Mapping[str, Any], secrets: SinkSecrets) -> PubsubSender:
    check_installed(_KIND)
    return PubsubSender(config["project"], config["topic"], config.get("endpoint", "").rstrip("/"))


PUBSUB = register_kind(SinkKind("pubsub", _check, _open, is_of_platform=lambda config: True))
