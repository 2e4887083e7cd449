"""Log in to the console: a form, and a brake on guessing."""

from __future__ import annotations

import hashlib
from collections import Counter
from typing import Any

import structlog
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse
from redis.exceptions import RedisError

ALLOWED_FAILURES = 10
_WINDOW_SECONDS = 300
# Counts here while the cache is away: less shared, never none.
_without_cache: Counter[str] = Counter()
log = structlog.get_logger(__name__)


class LoginPage(LoginView):
    template_name = "console/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if failures(_guesser(request)) >= ALLOWED_FAILURES:
            log.warning("login.braked", name=request.POST.get("username", "")[:63])
            context = self.get_context_data(form=AuthenticationForm(request), braked=True)
            return self.render_to_response(context, status=429, headers={"Retry-After": str(_WINDOW_SECONDS)})
        return super().post(request, *args, **kwargs)

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        log.info("login.succeeded", name=str(form.get_user()))
        return super().form_valid(form)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        log.warning("login.failed", name=form.data.get("username", "")[:63])
        _count_failure(_guesser(self.request))
        return self.render_to_response(self.get_context_data(form=form), status=422)


def failures(guesser: str) -> int:
    """How often this guesser was wrong within five minutes."""
    try:
        return int(cache.get(guesser, 0))
    except RedisError:
        return _without_cache[guesser]


def _count_failure(guesser: str) -> None:
    try:
        cache.add(guesser, 0, timeout=_WINDOW_SECONDS)
        cache.incr(guesser)
    except (RedisError, ValueError):
        _without_cache[guesser] += 1


def _guesser(request: HttpRequest) -> str:
    """A name from an address: one guesser cannot lock out the same name elsewhere."""
    said = f"{request.POST.get('username', '')[:200]}\n{request.META.get('REMOTE_ADDR', '')}"
    return f"login-failures:{hashlib.sha256(said.encode()).hexdigest()}"
