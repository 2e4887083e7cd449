"""`GET /me` in Flyte's form: who is logged in; an empty object for nobody."""

from __future__ import annotations

from contextlib import suppress

from django.conf import settings
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from controlplane.access.authentication import caller_by_header
from controlplane.access.login.login_details import LoginDetails
from controlplane.access.login.user_info import user_info
from controlplane.access.models import Principal
from controlplane.errors import NotAuthenticated


@require_safe
def me(request: HttpRequest) -> HttpResponse:
    """Return the caller of a session or token."""
    principal = _token_principal(request)
    identity_id = None
    if principal is None and isinstance(request.user, Principal):
        principal = request.user
        login = LoginDetails.from_session(request.session)
        identity_id = login.identity_id if login else None
    if principal is None:
        return JsonResponse({}, headers={"Cache-Control": "no-store"})
    info = user_info(principal, identity_id)
    return JsonResponse(info.as_json(), headers={"Cache-Control": "no-store", **info.headers()})


def _token_principal(request: HttpRequest) -> Principal | None:
    # Flyte's clients send their token in a header of their own, since Envoy owns the standard one.
    names = (*settings.FLYTE_AUTHORIZATION_HEADERS, "Authorization")
    header = next(filter(None, (request.headers.get(name) for name in names)), None)
    with suppress(NotAuthenticated):
        return caller_by_header(header)[1].principal if header else None
    return None
