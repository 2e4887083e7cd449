"""Back-channel logout (OpenID Connect Back-Channel Logout 1.0): the provider ends sessions here."""

from __future__ import annotations

import structlog
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_POST

from controlplane.access.issuers.verify import JwtRefused
from controlplane.access.login.oidc.logout import log_out_by_token
from controlplane.errors import IssuerUnavailable
from controlplane.observability.request_ids import current_request_id

log = structlog.get_logger(__name__)


@csrf_exempt  # The token's signature proves who sent it.
@require_POST
def backchannel_logout(request: HttpRequest) -> HttpResponse:
    """End the sessions that the logout token names: 200, or 400 if the token is not acceptable."""
    try:
        count = log_out_by_token(request.POST.get("logout_token", ""), request_id=current_request_id())
    except (JwtRefused, IssuerUnavailable) as error:
        log.warning("logout_token.refused", reason=str(error)[:200])
        body = {"error": "invalid_request", "error_description": str(error)[:200]}
        return JsonResponse(body, status=400, headers={"Cache-Control": "no-store"})
    log.info("logout_token.accepted", sessions=count)
    return HttpResponse(status=200, headers={"Cache-Control": "no-store"})
