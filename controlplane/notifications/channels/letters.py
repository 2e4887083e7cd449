"""E-mails about messages: text and HTML, threads, and headers that take no line breaks."""

from __future__ import annotations

from dataclasses import dataclass
from email.headerregistry import Address
from email.message import EmailMessage
from email.policy import SMTP
from email.utils import format_datetime, parseaddr
from hashlib import sha256
from urllib.parse import urlsplit

from django.utils.html import conditional_escape, format_html

from controlplane.delivery.kinds import Message
from controlplane.errors import FieldError, InvalidRequest

_COLOURS = {"info": "#2563eb", "warning": "#b45309", "critical": "#b91c1c"}
_RESOLVED_COLOUR = "#15803d"


@dataclass(frozen=True, slots=True)
class Envelope:
    """sender: with or without a display name. recipient: an address. cc: other recipients, to show."""

    sender: str
    recipient: str
    cc: tuple[str, ...] = ()


def letter(message: Message, envelope: Envelope) -> EmailMessage:
    """Return the e-mail. Raises InvalidRequest for line breaks in what becomes a header."""
    data = message.event.data
    mail = EmailMessage(policy=SMTP.clone(max_line_length=200))
    host = urlsplit(message.origin.public_url).hostname or "localhost"
    for name, value in _headers(message, envelope, host).items():
        mail[name] = header_value(name, value)
    mail.set_content(_text(data["text"], data["url"]))
    mail.add_alternative(_html(message), subtype="html")
    return mail


def header_value(name: str, value: str) -> str:
    """Return the value. Raises InvalidRequest if it could begin another header."""
    if any(character in value for character in "\r\n\0"):
        raise InvalidRequest(
            f"The header {name} has a line break. Remove it.",
            errors=[FieldError(f"/{name.lower()}", "line_break", "Line breaks are not allowed here.")],
        )
    return value


def check_address(address: str) -> str:
    """Return an e-mail address, without a display name. Raises InvalidRequest."""
    header_value("To", address)
    try:
        parsed = Address(addr_spec=address)
    except (ValueError, IndexError) as error:
        raise InvalidRequest(f"{address[:100]!r} is no e-mail address.") from error
    if not parsed.domain or not parsed.username:
        raise InvalidRequest(f"{address[:100]!r} is no e-mail address. Write it as ops@example.com.")
    return address


def _headers(message: Message, envelope: Envelope, host: str) -> dict[str, str]:
    data = message.event.data
    first = _message_id(data["message"], 0, envelope.recipient, host)
    this = _message_id(data["message"], data["revision"], envelope.recipient, host)
    is_reply = this != first
    headers = {
        "From": envelope.sender,
        "To": envelope.recipient,
        "Subject": data["subject"],
        "Date": format_datetime(message.event.at),
        "Message-ID": this,
        "List-Id": f"<notifications.{host}>",
        "List-Unsubscribe": f"<mailto:{parseaddr(envelope.sender)[1]}?subject=unsubscribe>",
        # No replies by machines (RFC 3834).
        "Auto-Submitted": "auto-generated",
        "X-Controlplane-Rule": data["rule"],
    }
    if is_reply:
        headers |= {"In-Reply-To": first, "References": first}
    others = [address for address in envelope.cc if address != envelope.recipient]
    return {**headers, **({"Cc": ", ".join(others)} if others else {})}


def _message_id(key: str, revision: int, recipient: str, host: str) -> str:
    """Return the same id for every attempt, so that receivers see that a second copy is one."""
    digest = sha256(f"{key}/{recipient}".encode()).hexdigest()[:24]
    return f"<{digest}.{revision}@{host}>"


def _text(text: str, url: str) -> str:
    return f"{text}\n\n{url}\n"


def _html(message: Message) -> str:
    data = message.event.data
    colour = _COLOURS.get(data["severity"], "#334155") if data["firing"] else _RESOLVED_COLOUR
    return format_html(
        '<!doctype html><html><body style="font-family:sans-serif">'
        '<h2 style="color:{}">{}</h2><pre style="white-space:pre-wrap;font-family:inherit">{}</pre>'
        '<p><a href="{}">Alerts</a> \N{MIDDLE DOT} {}</p></body></html>',
        colour,
        data["subject"],
        conditional_escape(data["text"]),
        data["url"],
        data["rule"],
    )
