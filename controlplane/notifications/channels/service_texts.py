"""The words of messages in what services understand, where nothing that an event says is markup. Pure."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from enum import Enum
from html import escape
from typing import Any

from controlplane.notifications.templates import cut

_FEWEST = 100
_GAP = "\N{ZERO WIDTH SPACE}"
_MARKUP = re.compile(r"([\\`*_{}\[\]()#+!~|>-])")


class Style(Enum):
    """How a service shows texts. FENCED: it knows Markdown and code blocks. ESCAPED: Markdown alone.

    TOPIC: as FENCED, with conversations by topic. UNTITLED: text without a title. TAGGED: HTML.
    """

    PLAIN = "plain"
    UNTITLED = "untitled"
    TAGGED = "tagged"
    FENCED = "fenced"
    TOPIC = "topic"
    ESCAPED = "escaped"


def words(data: Mapping[str, Any], style: Style, most: int) -> tuple[str, str]:
    """Return title and text of a message, with the address of the alerts. most: characters of the text."""
    subject, link = data["subject"], f"\n\n{data.get('url', '')}"
    text, whole = data["text"] or subject, f"{subject}\n{data['text']}"
    most -= len(link)
    if style is Style.PLAIN:
        return subject, cut(text, most) + link
    if style is Style.ESCAPED:
        return escaped(cut(subject, most)), dressed(text, escaped, most) + link
    if style is Style.UNTITLED:
        return "", cut(whole, most) + link
    dress = tagged if style is Style.TAGGED else fenced
    return (data["rule"] if style is Style.TOPIC else ""), dressed(whole, dress, most) + link


def dressed(text: str, dress: Callable[[str], str], most: int) -> str:
    """Return the text as a service wants it, cut before so that it has at most so many characters then."""
    length = most
    while len(result := dress(cut(text, length))) > most and length > _FEWEST:
        length = length * 3 // 4
    return result


def tagged(text: str) -> str:
    """Return the text as HTML without tags."""
    return escape(text, quote=False)


def fenced(text: str) -> str:
    """Return the text as a code block, in which services look for no markup, mentions and links."""
    parted = text.replace("`", f"`{_GAP}").replace("@", f"@{_GAP}").replace("<", f"<{_GAP}")
    return f"```\n{parted}\n```"


def escaped(text: str) -> str:
    """Return the text with Markdown's characters escaped, for cards, which have no code blocks."""
    parted = _MARKUP.sub(r"\\\1", text).replace("<", f"<{_GAP}").replace("@", f"@{_GAP}")
    return parted.replace("\n", "\n\n")
