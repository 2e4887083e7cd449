"""Where requests of Flyte's clients carry their token. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

# The name of the standard, for clients without a proxy that uses it itself.
STANDARD = "authorization"


def authorization_of(metadata: Mapping[str, str], headers: Iterable[str]) -> str:
    """Return the value of the first of the headers that has one, then of the standard one; else empty."""
    return next((metadata[name] for name in (*headers, STANDARD) if metadata.get(name)), "")
