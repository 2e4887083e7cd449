"""Public documents of the authorization server: metadata, keys, and who a token belongs to."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, JsonResponse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from controlplane.access.authentication import find_token
from controlplane.access.flyte_auth.external_metadata import external_server
from controlplane.access.flyte_auth.metadata import authorization_server_metadata, server_facts
from controlplane.access.login.oidc.providers import active_providers
from controlplane.access.oauth import jwt_tokens, metadata, signing_keys
from controlplane.access.oauth.scopes import OPENID
from controlplane.api.problems import plain_response
from controlplane.endpoints.access.oauth.protocol import self_mode
from controlplane.errors import IssuerUnavailable, NotAuthenticated, NotFound

_MAX_AGE_SECONDS = 300


@require_safe
def authorization_server(request: HttpRequest) -> HttpResponse:
    """Return our document, or that of the external server that clients must use."""
    try:
        return _document(authorization_server_metadata())
    except IssuerUnavailable as error:
        response = plain_response(error)
        response["Retry-After"] = str(error.members["retry_after"])
        return response


@require_safe
def protected_resource(request: HttpRequest) -> HttpResponse:
    servers = [settings.PUBLIC_URL] if "self" in settings.AUTH_SERVER else []
    if "external" in settings.AUTH_SERVER:
        servers.extend(filter(None, [external_server()]))
    return _document(metadata.protected_resource(settings.PUBLIC_URL, servers))


@require_safe
def openid_configuration(request: HttpRequest) -> HttpResponse:
    """Return our document, or redirect to that of the provider with which people log in, as Flyte does."""
    if "self" in settings.AUTH_SERVER and settings.OIDC_PROVIDER:
        return _document(metadata.openid_provider(server_facts()))
    issuer = console_issuer()
    if not issuer:
        return plain_response(NotFound("This server is no OpenID provider, and no provider is configured."))
    response = HttpResponseRedirect(f"{issuer.rstrip('/')}/.well-known/openid-configuration")
    response.status_code = 303
    return response


@self_mode
@require_safe
def jwks(request: HttpRequest) -> HttpResponse:
    return _document(signing_keys.published_keys())


@csrf_exempt
@self_mode
@require_http_methods(["GET", "HEAD", "POST"])
def userinfo(request: HttpRequest) -> HttpResponse:
    """Return claims about the person of an access token with the scope `openid`."""
    scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
    try:
        if scheme.lower() != "bearer":
            raise NotAuthenticated("An access token is required: Authorization: Bearer cp_oat_…")
        token = find_token(secret.strip())
    except NotAuthenticated as error:
        response = plain_response(error)
        response["WWW-Authenticate"] = metadata.challenge(settings.PUBLIC_URL, is_invalid=bool(secret))
        return response
    scopes = tuple(token.scopes or ())
    if OPENID not in scopes:
        response = JsonResponse({"error": "insufficient_scope"}, status=403)
        response["WWW-Authenticate"] = 'Bearer error="insufficient_scope", scope="openid"'
        return response
    return JsonResponse(jwt_tokens.user_info(token.principal, scopes), headers={"Cache-Control": "no-store"})


def console_issuer() -> str:
    """Return the issuer with which people log in to the console; empty without one."""
    providers = active_providers()
    return providers[0].issuer if providers else ""


def _document(content: dict[str, object]) -> HttpResponse:
    headers = {"Cache-Control": f"public, max-age={_MAX_AGE_SECONDS}", "Access-Control-Allow-Origin": "*"}
    return JsonResponse(content, headers=headers)
