"""The password form of the login, with its limit on failed attempts."""

from __future__ import annotations

import secrets
from http import HTTPStatus
from typing import Any

import structlog
from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.contrib.auth.views import LoginView
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse

from console.login.departures import leave
from console.login.targets import target_of
from console.pages import problem_page
from controlplane.access.authentication import caller_for
from controlplane.access.login import limits
from controlplane.access.login.limits import Attempt
from controlplane.access.login.local_login import LocalLogin, may_use_password, shows_password_form
from controlplane.access.login.new_session import begin_session
from controlplane.access.login.oidc.providers import active_providers
from controlplane.access.login.records import record_failure, record_login
from controlplane.access.models import Principal
from controlplane.endpoints.access.password_queue import RETRY_SECONDS, is_full
from controlplane.errors import RedirectNotAllowed
from controlplane.identity.roles import Action
from controlplane.observability.request_ids import current_request_id
from controlplane.web.client_address import address_of

_BROWSER_COOKIE_SECONDS = 90 * 24 * 3600
log = structlog.get_logger(__name__)


class LoginPage(LoginView):
    template_name = "console/login/password.html"
    redirect_authenticated_user = True

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            self.target = target_of(request)
        except RedirectNotAllowed as error:
            return problem_page(request, error)
        self.has_provider = bool(active_providers())
        if not shows_password_form(settings.LOCAL_LOGIN, has_provider=self.has_provider):
            return HttpResponseRedirect(reverse("login"))
        # Django's stubs know only the base class of responses.
        return super().dispatch(request, *args, **kwargs)  # type: ignore[return-value]

    def get_redirect_url(self, request: HttpRequest | None = None) -> str:
        return self.target

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        is_for_admins = self.has_provider and settings.LOCAL_LOGIN == LocalLogin.ADMINS
        return super().get_context_data(**kwargs, has_provider=self.has_provider, is_for_admins=is_for_admins)

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        self.attempt = _attempt(request)
        if is_full(request):
            return self._refuse(HTTPStatus.SERVICE_UNAVAILABLE, RETRY_SECONDS)
        if limits.count_attempt(self.attempt):
            # Without the name, which may be a password in the wrong field.
            log.warning("login.rate_limited", address=self.attempt.address)
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
        person = form.get_user()
        if not self._may_log_in(person):
            return self.form_invalid(form)
        log.info("login.succeeded", name=self.attempt.name)
        limits.forgive(self.attempt)
        begin_session(self.request, person)
        record_login(person, provider="", request_id=current_request_id())
        response = leave(self.request, self.get_success_url())
        _remember_browser(response, self.attempt.name)
        return response

    def _may_log_in(self, person: Principal) -> bool:
        # Nobody learns from the answer whether the password of another person is correct.
        is_admin = caller_for(person).verdict(Action.ACCESS_WRITE).allowed
        return may_use_password(settings.LOCAL_LOGIN, has_provider=self.has_provider, is_admin=is_admin)

    def form_invalid(self, form: AuthenticationForm) -> HttpResponse:
        reason = "Incorrect name or password, or the person may not log in with a password."
        name = record_failure(self.attempt.name, provider="", reason=reason, request_id=current_request_id())
        log.warning("login.failed", name=name, address=self.attempt.address)
        return self.render_to_response(
            self.get_context_data(form=form, is_incorrect=True), status=HTTPStatus.UNPROCESSABLE_ENTITY
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


def password_page(request: HttpRequest) -> HttpResponse:
    """Show or submit the password form."""
    response: HttpResponse = LoginPage.as_view()(request)  # type: ignore[assignment]  # see dispatch
    return response
