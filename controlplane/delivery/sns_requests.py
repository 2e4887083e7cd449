"""SNS' Publish request: an event as its parameters, and what an answer means. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from hashlib import sha256
from html import unescape
from urllib.parse import urlencode

from controlplane.delivery.cloudevents import structured, type_of
from controlplane.delivery.flavours import Flavour, Transport
from controlplane.delivery.kinds import Message
from controlplane.delivery.schedule import Answer, Result, outage_if_away

# Of the body with its attributes.
MOST_BYTES = 256 * 1024
_FIFO = ".fifo"
# Of groups and deduplication ids.
_FIFO_ID = re.compile(r"[!-~]{1,128}")
# Events of one group are in order: those of the whole installation, where a sink orders by scope.
_ROOT = "/"
_CODE = re.compile(r"<Code>([A-Za-z0-9.]+)</Code>")
_TEXT = re.compile(r"<Message>(.*?)</Message>", re.DOTALL)
_CONFIRMED = "<MessageId>"
_NOT_ACCEPTED = frozenset(
    {
        *("ExpiredToken", "ExpiredTokenException", "InvalidClientTokenId", "InvalidSecurity"),
        *("IncompleteSignature", "InvalidSignature", "SignatureDoesNotMatch", "RequestExpired"),
        *("MissingAuthenticationToken", "UnrecognizedClientException"),
    }
)
_SLOW_DOWN = frozenset(
    {
        *("Throttled", "ThrottledException", "Throttling", "ThrottlingException", "RequestThrottled"),
        *("TooManyRequestsException", "KMSThrottling", "InternalError", "InternalFailure"),
        "ServiceUnavailable",
    }
)


@dataclass(frozen=True, slots=True)
class Publication:
    """What SNS gets. attributes: of the message. fifo: group and deduplication id, or empty."""

    body: str
    attributes: Mapping[str, str] = field(default_factory=dict)
    subject: str = ""
    fifo: Mapping[str, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Bytes as SNS counts them."""
        texts = [self.body, *(f"{name}String{value}" for name, value in self.attributes.items())]
        return sum(len(text.encode()) for text in texts)

    def form(self, topic_arn: str) -> bytes:
        """Return the request's body."""
        fields = {
            "Action": "Publish",
            "Version": "2010-03-31",
            "TopicArn": topic_arn,
            "Message": self.body,
            **({"Subject": self.subject} if self.subject else {}),
            **self.fifo,
        }
        for number, (name, value) in enumerate(self.attributes.items(), 1):
            entry = f"MessageAttributes.entry.{number}"
            fields |= {
                f"{entry}.Name": name,
                f"{entry}.Value.DataType": "String",
                f"{entry}.Value.StringValue": value,
            }
        return urlencode(fields).encode()


def publication_of(message: Message, topic_arn: str) -> Publication:
    """Return an event for a topic: a structured CloudEvent, or a message of another product."""
    fifo = _fifo_fields(message) if topic_arn.endswith(_FIFO) else {}
    if (foreign := message.foreign(Transport.SNS)) is not None:
        return Publication(foreign.body.decode(), subject=foreign.key, fifo=fifo)
    attributes = {"ce-type": type_of(message.event.type), "ce-id": str(message.event.id)}
    attributes |= {"cp-replay": "true"} if message.is_replay else {}
    body = structured(message.event, message.origin, key=message.key).decode()
    return Publication(body, attributes, fifo=fifo)


def _fifo_fields(message: Message) -> dict[str, str]:
    """Return group and deduplication id.

    For five minutes, SNS drops what has an id that it knows: a replay, or the event of a second sink with
    another flavour, would count as delivered without being stored.
    """
    parts = [str(message.event.id)]
    parts += [message.flavour] if message.flavour is not Flavour.NATIVE else []
    parts += [message.attempted_at.isoformat()] if message.is_replay else []
    return {"MessageGroupId": _fifo_id(message.key or _ROOT), "MessageDeduplicationId": "-".join(parts)}


def _fifo_id(key: str) -> str:
    return key if _FIFO_ID.fullmatch(key) else sha256(key.encode()).hexdigest()


def code_of(response: str) -> str:
    """Return SNS' code of an error; empty if there is none."""
    found = _CODE.search(response)
    return found[1] if found else ""


def is_not_accepted(response: str) -> bool:
    """True if SNS did not accept the credentials, which may have expired."""
    return code_of(response) in _NOT_ACCEPTED


def answer_of(answer: Answer, response: str, topic_arn: str) -> Answer:
    """Return what the answer to a Publish request means."""
    if answer.result is Result.DELIVERED:
        if _CONFIRMED in response:
            return answer
        return replace(answer, result=Result.OUTAGE, error="The endpoint did not confirm the event.")
    code = code_of(response)
    if not code:
        return outage_if_away(answer)
    if code == "NotFound":
        return replace(answer, result=Result.TOPIC_MISSING, error=f"SNS has no topic {topic_arn}.")
    if code in _NOT_ACCEPTED:
        # Without SNS' text: it can have the headers that were signed, with the session's token.
        error = f"SNS does not accept the relay's credentials ({code})."
        return replace(answer, result=Result.OUTAGE, error=error)
    return outage_if_away(_refusal(answer, response, code))


def _refusal(answer: Answer, response: str, code: str) -> Answer:
    found = _TEXT.search(response)
    text = f"{code}: {unescape(found[1])}" if found else code
    result = Result.OUTAGE if code in _SLOW_DOWN else answer.result
    return replace(answer, result=result, error=f"SNS refused the event: {text.rstrip('.')}.")
