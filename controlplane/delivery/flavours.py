"""Flavours: events in the formats of another product, for receivers that were written for it. Pure.

The product's package registers how an event becomes a `ForeignMessage`; this module has how each transport
carries one.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum

from controlplane.delivery.cloudevents import STRUCTURED
from controlplane.delivery.cloudevents_protobuf import protobuf_event
from controlplane.delivery.logged_event import LoggedEvent

NATIVE = "native"
_PROTOBUF = "application/x-protobuf"
# In the order in which CloudEvents' Go SDK writes them; extensions follow the data.
_CONTEXT = ("specversion", "id", "source", "type", "subject", "datacontenttype", "dataschema", "time")


class Flavour(StrEnum):
    """In whose format events are sent. flyte-docs: as Flyte's guide describes them, unlike its code."""

    NATIVE = "native"
    FLYTE_V1 = "flyte-v1"
    FLYTE_V2 = "flyte-v2"
    FLYTE_DOCS = "flyte-docs"
    FLYTE_EXTERNAL = "flyte-external"

    @property
    def product(self) -> str:
        """Name of the product; empty for our own format. It is also the kind of the events it can have."""
        return self.value.partition("-")[0] if self is not Flavour.NATIVE else ""


class Transport(StrEnum):
    WEBHOOK = "webhook"
    NATS = "nats"
    KAFKA = "kafka"
    SNS = "sns"
    PUBSUB = "pubsub"


@dataclass(frozen=True, slots=True)
class ForeignMessage:
    """An event in another product's format. name: of the message; the subject or key at topics.

    attributes: CloudEvents' context attributes with extensions; empty: the data goes alone. is_text: the data
    is a text in structured JSON, otherwise base64.
    """

    name: str
    attributes: Mapping[str, str]
    data: bytes
    is_text: bool = False


@dataclass(frozen=True, slots=True)
class WireMessage:
    """What a transport carries. key: Kafka's key, or SNS' subject; Pub/Sub has it in the headers."""

    body: bytes
    headers: Mapping[str, str]
    key: str = ""


Encode = Callable[[Flavour, LoggedEvent], ForeignMessage]
_loaders: dict[Flavour, Callable[[], Encode]] = {}


def register_flavours(flavours: Iterable[Flavour], load: Callable[[], Encode]) -> None:
    """Register the format of a product. load: imports what it needs, when the first event is sent."""
    _loaders.update(dict.fromkeys(flavours, load))


def is_known(flavour: Flavour) -> bool:
    """Return whether this installation can send the flavour."""
    return flavour is Flavour.NATIVE or flavour in _loaders


def carries(flavour: Flavour, event_type: str) -> bool:
    """Return whether events of the type exist in the flavour."""
    return flavour is Flavour.NATIVE or event_type.partition(".")[0] == flavour.product


def foreign_message(flavour: Flavour, event: LoggedEvent) -> ForeignMessage:
    """Return the event in a product's format. Raises ValueError for an event that does not exist in it."""
    return _loaders[flavour]()(flavour, event)


def wire_message(message: ForeignMessage, transport: Transport) -> WireMessage:
    """Return what the product itself would give to the transport."""
    if transport in (Transport.SNS, Transport.PUBSUB):
        return _topic_message(message, transport)
    if not message.attributes:
        return WireMessage(message.data, {"content-type": f'{_PROTOBUF}; messageType="{message.name}"'})
    if transport is Transport.KAFKA:
        return _kafka_message(message)
    headers = {"content-type": STRUCTURED} if transport is Transport.WEBHOOK else {}
    return WireMessage(structured_message(message), headers)


def structured_message(message: ForeignMessage) -> bytes:
    """Return a CloudEvent as JSON, with the data in base64 unless it is a text."""
    attributes = message.attributes
    member, data = ("data", message.data.decode()) if message.is_text else ("data_base64", _base64(message))
    document = {
        **{name: attributes[name] for name in _CONTEXT if name in attributes},
        member: data,
        **{name: attributes[name] for name in sorted(attributes) if name not in _CONTEXT},
    }
    return json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()


def _topic_message(message: ForeignMessage, transport: Transport) -> WireMessage:
    content = protobuf_event(message.attributes, message.data) if message.attributes else message.data
    if transport is Transport.SNS:
        return WireMessage(base64.b64encode(content), {}, message.name)
    return WireMessage(content, {"key": message.name})


def _kafka_message(message: ForeignMessage) -> WireMessage:
    attributes = dict(message.attributes)
    content_type = attributes.pop("datacontenttype", "")
    headers = {f"ce_{name}": value for name, value in attributes.items()}
    if content_type:
        headers["content-type"] = content_type
    return WireMessage(message.data, headers, attributes["id"])


def _base64(message: ForeignMessage) -> str:
    return base64.b64encode(message.data).decode()
