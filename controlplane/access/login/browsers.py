"""Browser names from the User-Agent header. Pure."""

from __future__ import annotations

import re

# The order matters: each browser also sends the words of those after it.
_BROWSERS = (
    ("Edg", "Edge"),
    ("OPR/", "Opera"),
    ("SamsungBrowser/", "Samsung Internet"),
    ("Firefox/", "Firefox"),
    ("FxiOS/", "Firefox"),
    ("CriOS/", "Chrome"),
    ("Chrome/", "Chrome"),
    ("Safari/", "Safari"),
)
_SYSTEMS = (
    ("iPhone", "iOS"),
    ("iPad", "iPadOS"),
    ("Android", "Android"),
    ("Windows", "Windows"),
    ("Mac OS X", "macOS"),
    ("CrOS", "ChromeOS"),
    ("Linux", "Linux"),
)
_PRODUCT = re.compile(r"[A-Za-z0-9._-]{1,30}(/[A-Za-z0-9._-]{1,20})?")


def browser_name(user_agent: str) -> str:
    """Return a name such as "Firefox on Linux", the first product of any other client, or ""."""
    browser = _first(_BROWSERS, user_agent)
    if not browser:
        product = _PRODUCT.match(user_agent)
        return product[0] if product else ""
    system = _first(_SYSTEMS, user_agent)
    return f"{browser} on {system}" if system else browser


def _first(words: tuple[tuple[str, str], ...], text: str) -> str:
    return next((name for word, name in words if word in text), "")
