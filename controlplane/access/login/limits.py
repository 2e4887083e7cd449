"""Limits for failed logins: by name and address, by address, by name, and for the whole installation.

An attempt is counted before the password is checked, so that parallel guesses cannot exceed the limit.
A successful login is subtracted again. A browser in which the person has logged in before is counted
separately, so that guesses from elsewhere cannot lock the person out (OWASP, "device cookies").
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
# Failures allowed for a person at one keyboard.
PER_NAME_AND_ADDRESS = 10


@dataclass(frozen=True, slots=True)
class Attempt:
    """A login attempt. name: normalized. browser: id of a browser known for this name, or empty."""

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
    """Limits within the window. own: counted first; an attempt above it does not count for `shared`."""

    own: tuple[Limit, ...]
    shared: tuple[Limit, ...]


def normalized_name(typed: str) -> str:
    """Return the name in NFKC (RFC 8265) without surrounding spaces, as the login form looks it up."""
    return unicodedata.normalize("NFKC", typed.strip()).strip()


def limits_of(attempt: Attempt, *, per_address: int, per_name: int, in_all: int) -> Limits:
    """Return the limits that apply to the attempt."""
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
    """Count the attempt. True if it exceeds a limit, so that the password must not be checked."""
    limits = _limits(attempt)
    return exceeded(limits.own, _add(limits.own, 1)) or exceeded(limits.shared, _add(limits.shared, 1))


def forgive(attempt: Attempt) -> None:
    """Subtract a successful attempt, and clear the failures of its name at its address."""
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
    """Return a key that hides the name, since people type passwords into the wrong field."""
    return f"login:{kind}:{hashlib.sha256(chr(0).join(parts).encode(errors='replace')).hexdigest()[:40]}"
