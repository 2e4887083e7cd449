"""The secrets of a sink: sealed as one JSON document, and opened only to send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import msgspec

from controlplane.access.secrets.sealing import seal, unseal
from controlplane.delivery.kinds import SinkSecrets
from controlplane.delivery.models import Sink
from controlplane.delivery.signing import SigningSecret


def secrets_of(sink: Sink) -> SinkSecrets:
    """Return the secrets of a sink. Raises SecretsUnavailable."""
    if not sink.secrets:
        return SinkSecrets()
    return msgspec.json.decode(unseal(sink.secrets, sink.secrets_context), type=SinkSecrets)


def set_signing_secrets(sink: Sink, signing: Sequence[SigningSecret], now: datetime) -> None:
    """Seal these signing secrets, without those that have ended. Raises SecretsUnavailable."""
    kept = [secret for secret in signing if secret.signs_at(now)]
    seal_secrets(sink, replace(secrets_of(sink), signing=kept))


def seal_secrets(sink: Sink, secrets: SinkSecrets) -> None:
    """Replace all secrets of a sink; the caller saves it. Raises SecretsUnavailable."""
    is_empty = not secrets.signing and not secrets.credentials
    sink.secrets = "" if is_empty else seal(msgspec.json.encode(secrets), sink.secrets_context)
