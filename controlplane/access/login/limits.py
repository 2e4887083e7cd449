"""Limits of failed logins: by name and address, by address, by name, and for the whole installation.

An attempt is counted before the password is checked, so that parallel guesses cannot pass the limit together.
A successful login takes its own count back. A browser in which the person logged in before is counted by
itself: whoever guesses elsewhere cannot lock that person out (OWASP, "device cookies").
"""

from __future__ import annotations

import hashlib
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from django.conf import settings

from controlplane.access import attempt_counters
from controlplane.web.client_address import source_of

WINDOW_SECONDS = 300
# Failures that a person at one keyboard may have.
PER_NAME_AND_ADDRESS = 10


@dataclass(frozen=True, slots=True)
class Attempt:
    """name: normalised. browser: the id of a browser that is known for this name, else empty."""

    name: str
    address: str
    browser: str = ""


@dataclass(frozen=True, slots=True)
class Limit:
    """A counter and its largest allowed value."""

    key: str
    most: int


@dataclass(frozen=True, slots=True)
class Limits:
    """Failures within the window. own: counted first; a refused attempt does not count for `shared`."""

    own: tuple[Limit, ...]
    shared: tuple[Limit, ...]


def normalised_name(typed: str) -> str:
    """Return the name that the login form looks up: NFKC (RFC 8265), without spaces around it."""
    return unicodedata.normalize("NFKC", typed.strip()).strip()


def limits_of(attempt: Attempt, *, per_address: int, per_name: int, in_all: int) -> Limits:
    """Return what the attempt is counted by."""
    if attempt.browser:
        return Limits((Limit(_key("browser", attempt.name, attempt.browser), PER_NAME_AND_ADDRESS),), ())
    source = source_of(attempt.address)
    return Limits(
        (
            Limit(_key("name-address", attempt.name, source), PER_NAME_AND_ADDRESS),
            Limit(_key("address", source), per_address),
        ),
        (Limit(_key("name", attempt.name), per_name), Limit(_key("all"), in_all)),
    )


def exceeded(limits: Sequence[Limit], counts: Sequence[int]) -> bool:
    return any(count > limit.most for limit, count in zip(limits, counts, strict=True))


def count_attempt(attempt: Attempt) -> bool:
    """Count the attempt; True if a limit is exceeded and the password must not be checked."""
    limits = _limits(attempt)
    return exceeded(limits.own, _add(limits.own, 1)) or exceeded(limits.shared, _add(limits.shared, 1))


def forgive(attempt: Attempt) -> None:
    """Take back the count of an attempt that succeeded, and the failures of its name at its address."""
    limits = _limits(attempt)
    attempt_counters.forget([limits.own[0].key])
    _add((*limits.own[1:], *limits.shared), -1)


def _limits(attempt: Attempt) -> Limits:
    return limits_of(
        attempt,
        per_address=settings.LOGIN_FAILURES_PER_ADDRESS,
        per_name=settings.LOGIN_FAILURES_PER_NAME,
        in_all=settings.LOGIN_FAILURES_IN_ALL,
    )


def _add(limits: Sequence[Limit], amount: int) -> list[int]:
    return attempt_counters.add([limit.key for limit in limits], WINDOW_SECONDS, amount) if limits else []


def _key(kind: str, *parts: str) -> str:
    """A key without the name itself: people type passwords into the wrong field."""
    return f"login:{kind}:{hashlib.sha256(chr(0).join(parts).encode(errors='replace')).hexdigest()[:40]}"
