"""Webhooks by Standard Webhooks 1.0.0: a signed CloudEvent in structured mode."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from django.conf import settings

from controlplane import __version__
from controlplane.delivery.cloudevents import STRUCTURED, structured
from controlplane.delivery.flavours import Transport
from controlplane.delivery.https_exchange import exchange
from controlplane.delivery.kinds import Message, Sent, SinkKind, SinkSecrets, invalid_setting, register_kind
from controlplane.delivery.signing import SigningSecret, webhook_headers
from controlplane.errors import InvalidRequest
from controlplane.outgoing import allowed_networks, check_target

# Above it, receivers get a reference (`large: reference`).
_LARGE_BYTES = 20_000
LOOP_HEADER = "X-Controlplane-Loop"
_USER_AGENT = f"controlplane/{__version__}"
_SIGNATURE = "webhook-signature"


@dataclass(frozen=True, slots=True)
class Webhook:
    """A receiver's address and the secrets that sign. sends_large: whole events of any size."""

    url: str
    secrets: Sequence[SigningSecret]
    sends_large: bool = False

    def send(self, message: Message) -> Sent:
        body, content_type = self._content(message)
        signed = webhook_headers(
            body, message_id=str(message.event.id), signing_secrets=self.secrets, now=message.attempted_at
        )
        headers = {
            "Content-Type": content_type,
            "User-Agent": _USER_AGENT,
            LOOP_HEADER: message.origin.name,
            **signed,
            **({"webhook-replay": "true"} if message.is_replay else {}),
        }
        answered = exchange(self.url, body, headers, seconds=settings.WEBHOOK_TIMEOUT_SECONDS)
        kept_headers = {**headers, _SIGNATURE: _redacted(signed[_SIGNATURE])}
        return Sent(answered.answer, kept_headers, answered.response, answered.tls)

    def _content(self, message: Message) -> tuple[bytes, str]:
        if (foreign := message.foreign(Transport.WEBHOOK)) is not None:
            return foreign.body, foreign.headers["content-type"]
        most_bytes = 0 if self.sends_large else _LARGE_BYTES
        body = structured(message.event, message.origin, key=message.key, most_bytes=most_bytes)
        return body, STRUCTURED

    def close(self) -> None:
        """Do nothing: each request has a connection of its own."""


def most_bytes_of(config: Mapping[str, Any]) -> int:
    """Return above how many bytes an event's data are sent as a reference; 0: never."""
    return 0 if config.get("large") == "whole" else _LARGE_BYTES


def _redacted(signatures: str) -> str:
    return " ".join(f"{signature.partition(',')[0]},…" for signature in signatures.split())


def _check(config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
    for name in config.keys() - {"url", "large"}:
        raise invalid_setting(f"/config/{name}", f"A webhook has no setting {name}.")
    for name in credentials:
        raise invalid_setting(f"/credentials/{name}", "A webhook has a signing secret and no credentials.")
    url = str(config.get("url", ""))
    parts = urlsplit(url)
    if parts.scheme != "https" and not settings.WEBHOOK_ALLOW_HTTP:
        raise invalid_setting("/config/url", "A webhook's URL must begin with https://.")
    own = urlsplit(settings.PUBLIC_URL).hostname
    if own and parts.hostname == own and own not in ("localhost", "127.0.0.1"):
        raise invalid_setting("/config/url", f"{own} is this control plane itself. Give the receiver's URL.")
    try:
        check_target(url, allowed_networks())
    except InvalidRequest as error:
        raise invalid_setting("/config/url", str(error)) from error


def _open(config: Mapping[str, Any], secrets: SinkSecrets) -> Webhook:
    return Webhook(config["url"], secrets.signing, config.get("large") == "whole")


WEBHOOK = register_kind(SinkKind("webhook", _check, _open, is_signed=True))
