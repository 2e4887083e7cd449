"""Redirect targets after login and logout: paths of this server, or allowed origins. Pure."""

from __future__ import annotations

import re
from collections.abc import Collection
from urllib.parse import SplitResult, urlsplit

from controlplane.errors import RedirectNotAllowed

_MAX_LENGTH = 2048
# Browsers drop tabs and line breaks, and read `\` as `/`: both could turn a path into another host.
_VISIBLE = re.compile(r"[\x21-\x5b\x5d-\x7e]+")
_DEFAULT_PORTS = {"http": 80, "https": 443}
_HOST = re.compile(r"[a-z0-9.-]+|\[[0-9a-f:.]+\]")


def check_redirect(url: str, origins: Collection[str]) -> str:
    """Return the URL if it is a path of this server or at one of the origins. Raises RedirectNotAllowed."""
    if len(url) <= _MAX_LENGTH and _VISIBLE.fullmatch(url) and (_is_path(url) or _is_at(url, origins)):
        return url
    raise RedirectNotAllowed(
        "The redirect URL is neither a path of this server nor at an allowed origin. Use a path such as"
        " /agents, or ask the operator to add the origin to LOGIN_REDIRECT_ORIGINS."
    )


def origin_of(url: str) -> str:
    """Return scheme, host and port of a URL without its default port. Raises ValueError."""
    parts = urlsplit(url)
    scheme, host = parts.scheme.lower(), parts.netloc.lower()
    if scheme not in _DEFAULT_PORTS or "@" in host:
        raise ValueError(f"{url[:200]!r} is not an origin such as https://console.example.com")
    port = parts.port or _DEFAULT_PORTS[scheme]
    name = host.removesuffix(f":{parts.port}") if parts.port is not None else host
    if not _HOST.fullmatch(name) or parts.port == 0:
        raise ValueError(f"{url[:200]!r} is not an origin such as https://console.example.com")
    return f"{scheme}://{name}" if port == _DEFAULT_PORTS[scheme] else f"{scheme}://{name}:{port}"


def parse_origins(raw: str) -> frozenset[str]:
    """Parse a comma-separated list of origins. Raises ValueError."""
    origins = [part.strip() for part in raw.split(",") if part.strip()]
    for origin in origins:
        parts = urlsplit(origin)
        if parts.path not in ("", "/") or parts.query or parts.fragment:
            raise ValueError(f"{origin!r} must have only a scheme, a host and a port")
    return frozenset(map(origin_of, origins))


def _is_path(url: str) -> bool:
    if not url.startswith("/") or url.startswith("//"):
        return False
    parts = _split(url)
    return parts is not None and not parts.scheme and not parts.netloc


def _is_at(url: str, origins: Collection[str]) -> bool:
    # Without two slashes, browsers and parsers disagree about the host.
    if not re.match(r"https?://[^/]", url, re.IGNORECASE):
        return False
    try:
        return origin_of(url) in origins
    except ValueError:
        return False


def _split(url: str) -> SplitResult | None:
    try:
        return urlsplit(url)
    except ValueError:
        return None
