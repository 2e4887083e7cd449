"""The page on which people confirm who they are before a sensitive action."""

from __future__ import annotations

from http import HTTPStatus
from urllib.parse import urlsplit

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.debug import sensitive_post_parameters

from controlplane.access import login_event_types
from controlplane.access.login import passwords
from controlplane.access.models import Principal
from controlplane.access.occurrences import record_occurrence
from controlplane.access.step_up import login_of_session, provider_of, remember_password
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.password_queue import RETRY_SECONDS, is_full
from controlplane.errors import ControlplaneError, StepUpRequired, TooManyAttempts
from controlplane.identity.actors import Actor
from controlplane.observability.request_ids import current_request_id
from controlplane.web.client_address import address_of

_TEMPLATE = "console/step_up.html"


def ask_for_login(request: HttpRequest, error: StepUpRequired) -> HttpResponse:
    """Return the response for a page whose action requires a recent login."""
    if request.headers.get("HX-Request") == "true":
        page_url = urlsplit(request.headers.get("HX-Current-URL", ""))
        target = f"{page_url.path or '/'}{'?' if page_url.query else ''}{page_url.query}"
        return HttpResponse(status=HTTPStatus.UNAUTHORIZED, headers={"HX-Redirect": _page_url(target)})
    if request.method in ("GET", "HEAD"):
        return redirect(_page_url(request.get_full_path()))
    return _show(request, request.get_full_path(), refused=error, status=HTTPStatus.UNAUTHORIZED)


@sensitive_post_parameters("password")
def confirm(request: HttpRequest) -> HttpResponse:
    """Check the password again, and return to the page that asked for it."""
    person = request.user
    target = _safe_target(request)
    if not isinstance(person, Principal):
        return redirect(f"{reverse('login')}?{urlencode({'next': target})}")
    if request.method != "POST" or provider_of(request.session):
        return _show(request, target)
    try:
        _check_password(request, person)
    except ControlplaneError as error:
        return _show(request, target, problem=error, status=STATUS_BY_ERROR[type(error)])
    request.session.cycle_key()
    remember_password(request.session)
    record_step_up(request, person, provider="")
    messages.success(request, "Password confirmed. Repeat the change.")
    return redirect(target)


def record_step_up(request: HttpRequest, person: Principal, *, provider: str) -> None:
    """Record that the person logged in again. provider: its slug; empty for a password."""
    hint = login_of_session(request.session).session_hint
    actor = Actor(person.id, person.name, current_request_id(), session_hint=hint)
    data = {"principal": person.name, "provider": provider}
    record_occurrence(login_event_types.ACCESS_STEP_UP, person.name, actor=actor, data=data)


def _check_password(request: HttpRequest, person: Principal) -> None:
    if is_full(request):
        raise TooManyAttempts(
            "Too many logins are in progress. Try again in a few seconds.", retry_after=RETRY_SECONDS
        )
    password = request.POST.get("password", "")
    passwords.check_password(person, password, address=address_of(request), pointer="/password")


def _show(
    request: HttpRequest,
    target: str,
    *,
    refused: StepUpRequired | None = None,
    problem: ControlplaneError | None = None,
    status: int = HTTPStatus.OK,
) -> HttpResponse:
    provider = provider_of(request.session)
    query = {"reauthenticate": "1", "redirect_url": target, **({"idp": provider} if provider else {})}
    context = {
        "target": target,
        "refused": refused,
        "problem": problem,
        "provider": provider,
        "login_url": f"{reverse('login')}?{urlencode(query)}",
    }
    response = render(request, _TEMPLATE, context, status=status)
    response.headers["Cache-Control"] = "no-store"
    if problem and (seconds := problem.members.get("retry_after")):
        response.headers["Retry-After"] = str(seconds)
    return response


def _page_url(target: str) -> str:
    return f"{reverse('step-up')}?{urlencode({'next': target})}"


def _safe_target(request: HttpRequest) -> str:
    target = request.POST.get("next") or request.GET.get("next") or "/"
    is_ours = target.startswith("/") and url_has_allowed_host_and_scheme(target, allowed_hosts=None)
    return target if is_ours else "/"
