"""Requests per minute: limits for each token or person, and for each address without a valid token.

What a request used is kept as `rate_use` at its HttpRequest; endpoints answer it in header fields.
"""

from __future__ import annotations

import random
import threading
import time

from django.conf import settings
from django.http import HttpRequest
from rest_framework.request import Request
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView

from controlplane.access import attempt_counters
from controlplane.access.issuers.external_tokens import ExternalToken
from controlplane.access.models import Token
from controlplane.api.rate_limits import WINDOW_SECONDS, RateUse, seconds_left
from controlplane.errors import TooManyAttempts
from controlplane.formats.counts import counted
from controlplane.identity.callers import Caller
from controlplane.web.client_address import address_of, source_of

_BATCHES = 200
# Maximum number of keys that a process counts.
_MOST_KEYS = 10_000


class CallerThrottle(BaseThrottle):
    """Counts requests by token, and those of console sessions by person."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Raises TooManyAttempts."""
        caller = request.user
        if isinstance(request.auth, Token):
            count_token(request.auth, request._request)
        elif isinstance(caller, Caller) and caller.principal_id is not None:
            key, most = str(caller.principal_id), settings.THROTTLE_CALLER_PER_MINUTE
            _count("caller", key, most, caller.name, request._request)
        return True


class AnonymousThrottle(BaseThrottle):
    """Counts requests without a valid token or session, by address."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        """Raises TooManyAttempts."""
        caller = request.user
        if not isinstance(caller, Caller) or caller.principal_id is None:
            count_anonymous(request._request)
        return True


def count_token(token: Token | ExternalToken, request: HttpRequest | None = None) -> None:
    """Count a request with a token, or for an external one by its principal. Raises TooManyAttempts."""
    _count("token", str(token.id), settings.THROTTLE_CALLER_PER_MINUTE, "this token", request)


def count_anonymous(request: HttpRequest) -> None:
    """Count a request without a valid token or session. Raises TooManyAttempts."""
    source = source_of(address_of(request))
    most = settings.THROTTLE_ANONYMOUS_PER_MINUTE
    _count("address", source, most, "your address without a valid token", request)


class RequestCounter:
    """Counts requests in this process, and adds them to the shared counters in batches.

    A batch is half a percent of the limit: a request rarely waits for Valkey, and small limits are exact.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute = 0
        # For each key: requests not yet added to the shared counter, and its last value.
        self._counts: dict[str, tuple[int, int]] = {}

    def add(self, key: str, minute: int, most: int) -> int:
        """Count a request, and return the number in this minute as far as this process knows."""
        with self._lock:
            if minute != self._minute or len(self._counts) > _MOST_KEYS:
                self._minute, self._counts = minute, {}
            waiting, total = self._counts.get(key, (0, 0))
            waiting += 1
            is_due = waiting >= most // _BATCHES
            self._counts[key] = (0 if is_due else waiting, total)
        if not is_due:
            return total + waiting
        (total,) = attempt_counters.add([f"requests:{key}:{minute}"], 2 * WINDOW_SECONDS, waiting)
        with self._lock:
            if minute == self._minute:
                self._counts[key] = (self._counts.get(key, (0, 0))[0], total)
        return total

    def clear(self) -> None:
        """Forget this process's counts."""
        with self._lock:
            self._counts.clear()


def start_over() -> None:
    """Forget this process's counts of requests and attempts; the shared ones remain."""
    _requests.clear()
    attempt_counters.start_over()


def _count(kind: str, key: str, most: int, who: str, request: HttpRequest | None = None) -> None:
    if not most:
        return
    now = time.time()
    used = _requests.add(f"{kind}:{key}", int(now // WINDOW_SECONDS), most)
    use = RateUse(kind, most, used, seconds_left(now))
    if request is not None:
        request.rate_use = use  # type: ignore[attr-defined]  # read when the answer is complete
    if use.is_exceeded:
        wait = use.retry_after(_luck())
        limit, pause = counted(most, "request"), counted(wait, "second")
        detail = f"More than {limit} per minute from {who}. Try again in {pause}."
        raise TooManyAttempts(detail, retry_after=wait)


_requests = RequestCounter()
_luck = random.random
