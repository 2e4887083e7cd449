"""E-mail by SMTP: one message and one delivery per recipient."""

from __future__ import annotations

import smtplib
import ssl
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.message import EmailMessage
from email.utils import parseaddr
from typing import Any

from django.conf import settings

from controlplane.delivery.kinds import Message, Sent, SinkKind, SinkSecrets, invalid_setting
from controlplane.delivery.schedule import Answer, Result
from controlplane.errors import InvalidRequest
from controlplane.notifications.channels.letters import Envelope, check_address, letter
from controlplane.notifications.channels.registry import Channel, register_channel
from controlplane.notifications.channels.smtp import SmtpPool, configured_server
from controlplane.notifications.event_types import Step

_MOST_RECIPIENTS = 50
_SHOWN_HEADERS = ("From", "To", "Subject", "Message-ID", "In-Reply-To")
_pool = SmtpPool()


@dataclass(frozen=True, slots=True)
class Mailer:
    """cc: addresses that each message shows as copies."""

    cc: tuple[str, ...] = ()

    def send(self, message: Message) -> Sent:
        began = time.monotonic()
        recipient = message.event.data["recipient"]
        if not settings.SMTP_HOST or not settings.SMTP_SENDER:
            return Sent(
                Answer(Result.INTERNAL, error="SMTP_HOST and SMTP_SENDER must be set to send e-mails.")
            )
        try:
            mail = letter(message, Envelope(settings.SMTP_SENDER, recipient, self.cc))
        except InvalidRequest as error:
            return Sent(Answer(Result.REFUSED, error=str(error)))
        answer = _answer(mail, recipient)
        milliseconds = round(1000 * (time.monotonic() - began))
        headers = {name: str(mail[name]) for name in _SHOWN_HEADERS if mail[name]}
        return Sent(
            Answer(answer.result, answer.status, error=answer.error, milliseconds=milliseconds), headers
        )

    def close(self) -> None:
        """Do nothing: connections belong to the process."""


def _answer(mail: EmailMessage, recipient: str) -> Answer:
    """Send the e-mail, and return what the server said."""
    try:
        with _pool.connection(configured_server()) as smtp:
            return _deliver(smtp, mail, recipient)
    except smtplib.SMTPResponseException as error:
        return _refusal(error.smtp_code, error.smtp_error)
    except smtplib.SMTPException as error:
        return Answer(Result.SERVER_ERROR, error=f"The SMTP server cannot be used: {error}.")
    except TimeoutError:
        return Answer(
            Result.TIMEOUT, error=f"The SMTP server did not answer within {settings.SMTP_TIMEOUT_SECONDS} s."
        )
    except ssl.SSLError as error:
        return Answer(Result.TLS, error=f"The SMTP server's TLS was refused: {error.reason or error}.")
    except OSError as error:
        return Answer(Result.CONNECTION, error=f"The connection to the SMTP server failed: {error}.")


def _deliver(smtp: smtplib.SMTP, mail: EmailMessage, recipient: str) -> Answer:
    try:
        smtp.send_message(mail, parseaddr(settings.SMTP_SENDER)[1], [recipient])
    except smtplib.SMTPRecipientsRefused as error:
        # The connection can be used on: only this recipient was refused.
        code, text = error.recipients[recipient]
        return _refusal(code, text)
    return Answer(Result.DELIVERED, 250)


def _refusal(code: int, text: bytes | str) -> Answer:
    """Return the answer for a code of RFC 5321: 5xx holds for good, 4xx passes."""
    words = text.decode(errors="replace") if isinstance(text, bytes) else text
    # A wrong password and a missing STARTTLS can be mended here.
    is_final = 500 <= code < 600 and code not in (530, 534, 535, 538)
    result = Result.REFUSED if is_final else Result.SERVER_ERROR
    return Answer(result, code, error=f"The SMTP server answered with {code}: {words}")


def _addresses(config: Mapping[str, Any]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*config.get("to", ()), *config.get("cc", ())]))


def _check(config: Mapping[str, Any], credentials: Mapping[str, str]) -> None:
    addresses = _addresses(config)
    if not config.get("to") or len(addresses) > _MOST_RECIPIENTS:
        raise invalid_setting("/config/to", f"An e-mail channel needs 1 to {_MOST_RECIPIENTS} recipients.")
    for address in addresses:
        try:
            check_address(address)
        except InvalidRequest as error:
            raise invalid_setting("/config/to", str(error)) from error


def _open(config: Mapping[str, Any], secrets: SinkSecrets) -> Mailer:
    return Mailer(tuple(config.get("cc", ())))


def _steps(config: Mapping[str, Any]) -> frozenset[Step]:
    """Return beginning and end: an e-mail cannot be changed."""
    return frozenset({Step.TRIGGER, Step.RESOLVE})


def _recipients(config: Mapping[str, Any]) -> Sequence[str]:
    return _addresses(config)


CHANNEL = register_channel(Channel("email", SinkKind("email", _check, _open), _steps, _recipients))
