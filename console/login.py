"""The login page, with its limit on failed attempts."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse

from controlplane.access.login import limits
from controlplane.access.login.limits import Attempt
from controlplane.access.login.session_store import SessionStore
from controlplane.endpoints.access.password_queue import RETRY_SECONDS, is_full
from controlplane.web.client_address import address_of

_BROWSER_COOKIE_SECONDS = 90 * 24 * 3600
log = structlog.get_logger(__name__)


class LoginPage(LoginView):
    template_name = "console/login.html"
    redirect_authenticated_user = True

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.attempt = _attempt(request)
        if is_full(request):
            return self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, RETRY_SECONDS)
        if limits.count_attempt(self.attempt):
            log.warning("login.rate_limited", name=self.attempt.name[:63], address=self.attempt.address)
            return self._refuse(HTTPStatus.TOO_MANY_REQUESTS, limits.WINDOW_SECONDS)
        return super().post(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        kwargs: dict[str, Any] = super().get_form_kwargs()
        if "data" in kwargs:
            # Authenticate with the same normalised name that the limit counts.
            data = kwargs["data"].copy()
            data["username"] = self.attempt.name
            kwargs["data"] = data
        return kwargs

    def form_valid(self, form: AuthenticationForm) -> HttpResponse:
        log.info("login.succeeded", name=self.attempt.name)
        limits.forgive(self.attempt)
        response = super().form_valid(form)
        SessionStore.clear_expired()
        _remember_browser(response, self.attempt.name)
        return response

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        log.warning("login.failed", name=self.attempt.name[:63], address=self.attempt.address)
        return self.render_to_response(
            self.get_context_data(form=form), status=HTTPStatus.UNPROCESSABLE_ENTITY
        )

    def _refuse(self, status: HTTPStatus, seconds: int) -> HttpResponse:
        context = self.get_context_data(form=AuthenticationForm(self.request), refused=status.value)
        return self.render_to_response(context, status=status, headers={"Retry-After": str(seconds)})


def _attempt(request: HttpRequest) -> Attempt:
    name = limits.normalized_name(request.POST.get("username", ""))
    browser = request.get_signed_cookie(
        _cookie(), default="", salt=_salt(name), max_age=_BROWSER_COOKIE_SECONDS
    )
    return Attempt(name, address_of(request), browser or "")


def _remember_browser(response: HttpResponse, name: str) -> None:
    """Set a cookie, so that attempts from this browser are counted apart from those of others."""
    response.set_signed_cookie(
        _cookie(),
        secrets.token_hex(16),
        salt=_salt(name),
        max_age=_BROWSER_COOKIE_SECONDS,
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite=settings.SESSION_COOKIE_SAMESITE,
    )


def _cookie() -> str:
    return str(settings.SESSION_COOKIE_NAME).replace("session", "browser")


def _salt(name: str) -> str:
    return f"known-browser:{name}"
