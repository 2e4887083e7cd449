"""A person changes the password."""

from __future__ import annotations

from http import HTTPStatus

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters

from console.forms import filled, said_in
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
            messages.success(request, "Your password has changed. Your other sessions have ended.")
            return redirect("sessions")
    answer = render(request, "console/access/password.html", {"problem": problem}, status=status)
    answer.headers["Cache-Control"] = "no-store"
    if problem and (seconds := problem.members.get("retry_after")):
        answer.headers["Retry-After"] = str(seconds)
    return answer


def _change(request: HttpRequest, caller: Caller) -> None:
    if is_full(request):
        raise TooManyAttempts("Too many people are logging in right now.", retry_after=RETRY_SECONDS)
    form = said_in(request)
    if form.get("repeated") != form.get("new_password"):
        message = "The two new passwords differ. Enter the same one twice."
        raise InvalidRequest(message, errors=[FieldError("/repeated", "different", message)])
    wanted = filled(
        PasswordWrite, {name: form.get(name, "") for name in ("current_password", "new_password")}
    )
    if caller.principal_id is None:
        raise PermissionDenied("Only a person has a password.")
    person = passwords.change_password(
        PasswordChange(
            caller.principal_id,
            wanted["current_password"],
            wanted["new_password"],
            address_of(request),
            session_digest(request),
        ),
        actor=actor_of(caller),
    )
    keep_logged_in(request, person)
