"""Redirect URIs of clients: which may be registered, and which a request may use. Pure.

A request must use a registered URI exactly. Only native applications, which are public clients, may use any
port of a registered loopback URI (RFC 8252 section 7.3).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

_MAX_LENGTH = 2000
_LOOPBACK = re.compile(
    r"http://(?P<host>localhost|127\.0\.0\.1|\[::1\])(?::(?P<port>[1-9][0-9]{0,4}))?(?P<rest>/[!-~]*)?"
)
_HTTPS = re.compile(r"https://[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[1-9][0-9]{0,4})?(/[!-~]*)?")
_FORBIDDEN = re.compile(r"[\\#*@\"'<>`{}|^]|/\.\.?(/|$|\?)|%(?![0-9A-Fa-f]{2})|%(0|5c|2e|2f)", re.IGNORECASE)


def may_register(uri: str) -> bool:
    """True for https:// addresses, and for http:// on loopback."""
    if len(uri) > _MAX_LENGTH or _FORBIDDEN.search(uri):
        return False
    return _port_is_legal(uri) and bool(_LOOPBACK.fullmatch(uri) or _HTTPS.fullmatch(uri))


def is_allowed(uri: str, registered: Iterable[str], *, is_public: bool) -> bool:
    """True if a request of the client may use the URI."""
    registered = tuple(registered)
    if not may_register(uri):
        return False
    if uri in registered:
        return True
    return is_public and any(_differ_only_in_port(uri, other) for other in registered)


def _differ_only_in_port(uri: str, other: str) -> bool:
    requested, known = _LOOPBACK.fullmatch(uri), _LOOPBACK.fullmatch(other)
    if requested is None or known is None:
        return False
    return (requested["host"], requested["rest"]) == (known["host"], known["rest"])


def _port_is_legal(uri: str) -> bool:
    match = _LOOPBACK.fullmatch(uri)
    return match is None or match["port"] is None or int(match["port"]) <= 65535
