"""Log in to the console: a form, and a brake on guessing."""

from __future__ import annotations

import hashlib
from typing import Any

import structlog
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.cache import cache
from django.core.cache.backends.locmem import LocMemCache
from django.http import HttpRequest, HttpResponse
from redis.exceptions import RedisError

ALLOWED_FAILURES = 10
_WINDOW_SECONDS = 300
# Counts here while the cache is away: less shared, never none. It forgets by the same clock, and
# its size is bounded, or guessed names would fill the memory.
_this_process = LocMemCache("login-attempts", {"OPTIONS": {"MAX_ENTRIES": 10_000}})
log = structlog.get_logger(__name__)


class LoginPage(LoginView):
    template_name = "console/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        # Counted before the password is looked at: many guesses at once cannot slip through.
        if count_attempt(_guesser(request)) > ALLOWED_FAILURES:
            log.warning("login.braked", name=request.POST.get("username", "")[:63])
            context = self.get_context_data(form=AuthenticationForm(request), braked=True)
            later = {"Retry-After": str(_WINDOW_SECONDS)}
            return self.render_to_response(context, status=429, headers=later)
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        log.info("login.succeeded", name=str(form.get_user()))
        _forget(_guesser(self.request))
        return super().form_valid(form)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        log.warning("login.failed", name=form.data.get("username", "")[:63])
        return self.render_to_response(self.get_context_data(form=form), status=422)


def count_attempt(guesser: str) -> int:
    """How often this guesser has tried within five minutes, this time included."""
    for counter in (cache, _this_process):
        try:
            counter.add(guesser, 0, timeout=_WINDOW_SECONDS)
            return counter.incr(guesser)
        except (RedisError, ValueError):
            # ValueError: the count was forgotten between the two steps.
            continue
    return 1


def _forget(guesser: str) -> None:
    _this_process.delete(guesser)
    try:
        cache.delete(guesser)
    except RedisError:
        log.warning("login.count_kept", reason="The cache is away; the count will expire.")


def _guesser(request: HttpRequest) -> str:
    """A name from an address: one guesser cannot lock out the same name elsewhere."""
    said = f"{request.POST.get('username', '')[:200]}\n{request.META.get('REMOTE_ADDR', '')}"
    return f"login-attempts:{hashlib.sha256(said.encode()).hexdigest()}"
