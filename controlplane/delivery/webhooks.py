"""Webhooks by Standard Webhooks 1.0.0: a signed CloudEvent in structured or binary mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from controlplane import __version__
from controlplane.delivery.cloudevents import STRUCTURED, binary, structured
from controlplane.delivery.flavours import Transport
from controlplane.delivery.https_exchange import exchange
from controlplane.delivery.kinds import Message, Sent, SinkKind, SinkSecrets, invalid_setting, register_kind
from controlplane.delivery.signing import SigningSecret, webhook_headers
from controlplane.errors import InvalidRequest
from controlplane.outgoing import allowed_networks, check_target, is_demo_receiver

# Above it, receivers get a reference (`large: reference`).
_LARGE_BYTES = 20_000
LOOP_HEADER = "X-Controlplane-Loop"
_USER_AGENT = f"controlplane/{__version__}"
_SIGNATURE = "webhook-signature"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A receiver's address and the secrets that sign.

    sends_large: whole events of any size. is_binary: the body is the event's data, and headers have the rest.
    """

    url: str
    secrets: Sequence[SigningSecret]
    sends_large: bool = False
    is_binary: bool = False

    def send(self, message: Message) -> Sent:
        content_headers, body = self._content(message)
        signed = webhook_headers(
            body, message_id=str(message.event.id), signing_secrets=self.secrets, now=message.attempted_at
        )
        headers = {
            **content_headers,
            "User-Agent": _USER_AGENT,
            LOOP_HEADER: message.origin.name,
            **signed,
            **({"webhook-replay": "true"} if message.is_replay else {}),
            **message.trace_headers,
        }
        answered = exchange(self.url, body, headers, seconds=settings.WEBHOOK_TIMEOUT_SECONDS)
        kept_headers = {**headers, _SIGNATURE: _redacted(signed[_SIGNATURE])}
        return Sent(answered.answer, kept_headers, answered.response, answered.tls)

    def _content(self, message: Message) -> tuple[dict[str, str], bytes]:
        """Return headers and body."""
        if (foreign := message.foreign(Transport.WEBHOOK)) is not None:
            return {"Content-Type": foreign.headers["content-type"]}, foreign.body
        event, here, key = message.event, message.origin, message.key
        most_bytes = 0 if self.sends_large else _LARGE_BYTES
        if self.is_binary:
            return binary(event, here, prefix="ce-", key=key, most_bytes=most_bytes)
        return {"Content-Type": STRUCTURED}, structured(event, here, key=key, most_bytes=most_bytes)

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""


def most_bytes_of(config: Mapping[str, Any]) -> int:
    """Return above how many bytes an event's data are sent as a reference; 0: never."""
    return 0 if config.get("large") == "whole" else _LARGE_BYTES


def _redacted(signatures: str) -> str:
    return " ".join(f"{signature.partition(',')[0]},…" for signature in signatures.split())


def _check(config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
    for name in config.keys() - {"url", "large", "mode"}:
        raise invalid_setting(f"/config/{name}", f"A webhook has no setting {name}.")
    for name in credentials:
        raise invalid_setting(f"/credentials/{name}", "A webhook has a signing secret and no credentials.")
    url = str(config.get("url", ""))
    parts = urlsplit(url)
    if parts.scheme != "https" and not settings.WEBHOOK_ALLOW_HTTP and not is_demo_receiver(url):
        raise invalid_setting("/config/url", "A webhook's URL must begin with https://.")
    own = urlsplit(settings.PUBLIC_URL).hostname
    if own and parts.hostname == own and own not in ("localhost", "127.0.0.1"):
        raise invalid_setting("/config/url", f"{own} is this control plane itself. Give the receiver's URL.")
    try:
        check_target(url, allowed_networks())
    except InvalidRequest as error:
        raise invalid_setting("/config/url", str(error)) from error


def _open(config: Mapping[str, Any], secrets: SinkSecrets) -> Webhook:
    is_binary = config.get("mode") == "binary"
    return Webhook(config["url"], secrets.signing, config.get("large") == "whole", is_binary)


WEBHOOK = register_kind(SinkKind("webhook", _check, _open, is_signed=True))
