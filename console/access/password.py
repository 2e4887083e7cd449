"""The page on which people change their password."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters

from console.forms import parse_form, read_form
from console.pages import actor_of, page
from controlplane.access.login import passwords
from controlplane.access.login.passwords import PasswordChange
from controlplane.access.login.session_store import keep_logged_in
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.password_queue import RETRY_SECONDS, is_full
from controlplane.endpoints.access.session_views import PasswordWrite, session_digest
from controlplane.errors import (
    ControlplaneError,
    FieldError,
    InvalidRequest,
    PermissionDenied,
    TooManyAttempts,
)
from controlplane.identity.callers import Caller
from controlplane.web.client_address import address_of

_FIELDS = ("current_password", "new_password")


@sensitive_post_parameters()
@page
def change(request: HttpRequest, caller: Caller) -> HttpResponse:
    problem: ControlplaneError | None = None
    status = HTTPStatus.OK
    if request.method == "POST":
        try:
            _change(request, caller)
        except PermissionDenied:
            raise
        except ControlplaneError as error:
            problem, status = error, STATUS_BY_ERROR[type(error)]
        else:
            messages.success(request, "Password changed. Your other sessions have ended.")
            return redirect("sessions")
    response = render(request, "console/access/password.html", {"problem": problem}, status=status)
    response.headers["Cache-Control"] = "no-store"
    if problem and (seconds := problem.members.get("retry_after")):
        response.headers["Retry-After"] = str(seconds)
    return response


def _change(request: HttpRequest, caller: Caller) -> None:
    if is_full(request):
        raise TooManyAttempts(
            "Too many logins are in progress. Try again in a few seconds.", retry_after=RETRY_SECONDS
        )
    form = read_form(request)
    if form.get("repeated") != form.get("new_password"):
        message = "The new passwords do not match. Enter the same password twice."
        raise InvalidRequest(message, errors=[FieldError("/repeated", "different", message)])
    body = parse_form(
        PasswordWrite, {name: form.get(name, "") for name in ("current_password", "new_password")}
    )
    if caller.principal_id is None:
        raise PermissionDenied("Only people have passwords. Log in as a person.")
    person = passwords.change_password(
        PasswordChange(
            caller.principal_id,
            body["current_password"],
            body["new_password"],
            address_of(request),
            session_digest(request),
        ),
        actor=actor_of(caller),
    )
    keep_logged_in(request, person)
