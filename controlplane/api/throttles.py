"""Limits of requests in a minute: for each token or person, and for each address without a valid token."""

from __future__ import annotations

import threading
import time

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from controlplane.access import attempt_counters
from controlplane.access.models import Token
from controlplane.errors import TooManyAttempts
from controlplane.identity.callers import Caller
from controlplane.web.client_address import address_of, source_of

_SECONDS = 60
_PORTIONS = 200
# Tokens of which a process keeps counts.
_MOST_KEYS = 10_000


class CallerThrottle(BaseThrottle):
    """Counts requests with a token by the token, and those with a session by its person."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Raises TooManyAttempts."""
        caller = request.user
        if isinstance(request.auth, Token):
            count_token(request.auth)
        elif isinstance(caller, Caller) and caller.principal_id is not None:
            _count("caller", str(caller.principal_id), settings.THROTTLE_CALLER_PER_MINUTE, caller.name)
        return True


class AnonymousThrottle(BaseThrottle):
    """Counts requests that no token or session vouches for, by address."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Raises TooManyAttempts."""
        caller = request.user
        if not isinstance(caller, Caller) or caller.principal_id is None:
            count_anonymous(request._request)
        return True


def count_token(token: Token) -> None:
    """Count a request with a token. Raises TooManyAttempts."""
    _count("token", str(token.id), settings.THROTTLE_CALLER_PER_MINUTE, "this token")


def count_anonymous(request: HttpRequest) -> None:
    """Count a request that no token or session vouches for. Raises TooManyAttempts."""
    source = source_of(address_of(request))
    _count("address", source, settings.THROTTLE_ANONYMOUS_PER_MINUTE, "your address without a valid token")


class RequestCounter:
    """Counts requests in this process, and takes the counts to all processes' counters in portions.

    A portion is half a percent of the limit: a request rarely waits for Valkey, and small limits are exact.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute = 0
        # For each key: not taken yet, and the last count of all processes.
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, key: str, minute: int, most: int) -> int:
        """Count a request; return how many there were in this minute, as far as this process knows."""
        with self._lock:
            if minute != self._minute or len(self._counts) > _MOST_KEYS:
                self._minute, self._counts = minute, {}
            waiting, total = self._counts.get(key, (0, 0))
            waiting += 1
            is_due = waiting >= most // _PORTIONS
            self._counts[key] = (0 if is_due else waiting, total)
        if not is_due:
            return total + waiting
        (total,) = attempt_counters.add([f"requests:{key}:{minute}"], 2 * _SECONDS, waiting)
        with self._lock:
            if minute == self._minute:
                self._counts[key] = (self._counts.get(key, (0, 0))[0], total)
        return total


def seconds_left(now: float) -> int:
    """Seconds until the minute that contains `now` is over, at least 1."""
    return max(1, _SECONDS - int(now % _SECONDS))


def _count(kind: str, key: str, most: int, who: str) -> None:
    if not most:
        return
    now = time.time()
    if _requests.add(f"{kind}:{key}", int(now // _SECONDS), most) > most:
        wait = seconds_left(now)
        detail = f"More than {most} requests in a minute from {who}. Try again in {wait} seconds."
        raise TooManyAttempts(detail, retry_after=wait)


_requests = RequestCounter()
