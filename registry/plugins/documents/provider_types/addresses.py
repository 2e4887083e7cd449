"""Addresses of HTTP servers, without credentials in them. Pure."""

from __future__ import annotations

import re
from urllib.parse import SplitResult, urlsplit

from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import read_text
from registry.plugins.documents.secrets import HINT

_HOST = re.compile(r"(?:[A-Za-z0-9](?:[A-Za-z0-9_-]{0,61}[A-Za-z0-9])?\.?)+|[0-9A-Fa-f:.]+")


def read_address(node: Node, findings: Findings) -> str | None:
    """Read an http or https URL. Its host is checked against the address rules when it is used."""
    text = read_text(node, findings)
    if text is None:
        return None
    parts = _split(text)
    if parts is None or parts.scheme not in ("http", "https") or not _HOST.fullmatch(parts.hostname or ""):
        findings.error(node.pointer, Code.INVALID_VALUE, "Expected a URL such as https://host/folder.")
        return None
    if "@" in parts.netloc or "?" in text or "#" in text:
        message = "The URL must not contain a user, a password, a query or a fragment."
        findings.error(node.pointer, Code.INLINE_SECRET, message, HINT)
        return None
    return text.rstrip("/")


def _split(text: str) -> SplitResult | None:
    try:
        parts = urlsplit(text)
        parts.port  # noqa: B018  (raises ValueError if it is no port)
    except ValueError:
        return None
    return None if " " in text or "\\" in text else parts
