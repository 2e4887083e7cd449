"""The page on which people approve a device that shows them a code."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from console.forms import read_form
from console.pages import page
from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.oauth import device_codes
from controlplane.access.oauth.models import DeviceCode
from controlplane.access.oauth.scopes import meaning
from controlplane.access.step_up import login_of_session
from controlplane.api.problems import STATUS_BY_ERROR
from controlplane.endpoints.access.oauth.protocol import self_mode
from controlplane.errors import ControlplaneError, PermissionDenied
from controlplane.identity.callers import Caller
from controlplane.web.client_address import address_of


@self_mode
@page
def device(request: HttpRequest, caller: Caller) -> HttpResponse:
    if caller.kind != PrincipalKind.PERSON:
        raise PermissionDenied("Only people can approve devices.")
    user_code = request.POST.get("user_code", request.GET.get("user_code", ""))[:20]
    code, problem, status = None, None, 200
    if user_code:
        try:
            code = _find(request, user_code)
            if request.method == "POST" and "decision" in request.POST:
                return _decide(request, code)
        except ControlplaneError as error:
            code, problem, status = None, error, STATUS_BY_ERROR[type(error)]
    context = {
        "user_code": user_code,
        "code": code,
        "meanings": [(scope, meaning(scope)) for scope in code.scopes] if code else [],
        "problem": problem,
    }
    response = render(request, "console/access/device.html", context, status=status)
    response.headers["Cache-Control"] = "no-store"
    return response


def _find(request: HttpRequest, user_code: str) -> DeviceCode:
    session = str(request.session.session_key or "")
    return device_codes.find_waiting_device(user_code, session=session, address=address_of(request))


def _decide(request: HttpRequest, code: DeviceCode) -> HttpResponse:
    form = read_form(request)
    assert isinstance(request.user, Principal)
    is_approved = form.get("decision") == "approve"
    auth_time = login_of_session(request.session).auth_time
    device_codes.decide_about_device(code, request.user, is_approved=is_approved, auth_time=auth_time)
    outcome = "can log in now. Return to your device." if is_approved else "was denied access."
    messages.success(request, f"{code.client.name} {outcome}")
    return redirect("device")
