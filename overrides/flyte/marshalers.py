"""Choose one of FlyteAdmin's three marshalers for a request and for its response. Pure."""

from __future__ import annotations

from enum import Enum

from google.protobuf.message import DecodeError, Message

from overrides.flyte import json_reading, protojson
from overrides.flyte.errors import invalid


class Marshaler(Enum):
    """A marshaler. value: the content type that selects it."""

    PROTOBUF = "application/octet-stream"
    # Proto names; unknown members are refused.
    SNAKE_JSON = "application/json"
    # lowerCamelCase; unknown members are dropped. The default.
    CAMEL_JSON = "*"

    @property
    def content_type(self) -> str:
        return "application/octet-stream" if self is Marshaler.PROTOBUF else "application/json"

    def dump(self, message: Message) -> bytes:
        if self is Marshaler.PROTOBUF:
            return message.SerializeToString(deterministic=True)
        return protojson.dumps(message, camel=self is Marshaler.CAMEL_JSON)

    def load(self, body: bytes, message: Message) -> None:
        """Parse a body into the message. Raises FlyteError."""
        if self is not Marshaler.PROTOBUF:
            json_reading.loads(body, message, strict=self is Marshaler.SNAKE_JSON)
            return
        try:
            message.MergeFromString(body)
        except DecodeError as error:
            raise invalid("proto: cannot parse invalid wire-format data") from error


_NAMED = {marshaler.value: marshaler for marshaler in (Marshaler.PROTOBUF, Marshaler.SNAKE_JSON)}


def choose(content_type: str, accept: str) -> tuple[Marshaler, Marshaler]:
    """Return the marshalers of request and response. Content-Type may have parameters, Accept may not.

    Source: grpc-gateway's MarshalerForRequest, which compares whole Accept values.
    """
    inbound = _NAMED.get(content_type.partition(";")[0].strip().lower())
    outbound = _NAMED.get(accept.strip())
    return inbound or Marshaler.CAMEL_JSON, outbound or inbound or Marshaler.CAMEL_JSON
