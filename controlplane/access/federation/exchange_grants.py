"""Grant types of the token endpoint for workloads: token exchange (RFC 8693) and JWT bearer (RFC 7523)."""

from __future__ import annotations

from collections.abc import Mapping
from http import HTTPStatus

from django.conf import settings

from controlplane.access.federation.exchange import (
    Exchanged,
    ExchangeRefused,
    ExchangeRequest,
    exchange_token,
)
from controlplane.access.oauth.extension_grants import (
    IssuedToken,
    OAuthError,
    RequestFacts,
    register_grant,
)
from controlplane.access.oauth.models import OAuthClient
from controlplane.access.oauth.scopes import parse
from controlplane.database.clock import statement_now
from controlplane.errors import IssuerUnavailable

TOKEN_EXCHANGE = "urn:ietf:params:oauth:grant-type:token-exchange"  # noqa: S105  (a grant type)
JWT_BEARER = "urn:ietf:params:oauth:grant-type:jwt-bearer"
_TOKEN_TYPE = "urn:ietf:params:oauth:token-type:"  # noqa: S105  (a prefix)
_ISSUED_TYPE = f"{_TOKEN_TYPE}access_token"
_SUBJECT_TYPES = frozenset(f"{_TOKEN_TYPE}{name}" for name in ("jwt", "id_token", "access_token"))
_INVALID_REQUEST = "invalid_request"


def register_grants() -> None:
    """Add both grant types to the token endpoint."""
    register_grant(TOKEN_EXCHANGE, exchange_subject_token)
    register_grant(JWT_BEARER, exchange_assertion)


def exchange_subject_token(
    parameters: Mapping[str, str], client: OAuthClient | None, facts: RequestFacts
) -> IssuedToken:
    """Answer a token exchange. Raises OAuthError."""
    if parameters.get("subject_token_type") not in _SUBJECT_TYPES:
        raise OAuthError(_INVALID_REQUEST, f"subject_token_type must be {_TOKEN_TYPE}jwt.")
    if parameters.get("requested_token_type", _ISSUED_TYPE) != _ISSUED_TYPE:
        raise OAuthError(_INVALID_REQUEST, f"requested_token_type must be {_ISSUED_TYPE}.")
    if "actor_token" in parameters:
        raise OAuthError(_INVALID_REQUEST, "actor_token is not supported.")
    return _exchange(parameters, "subject_token", TOKEN_EXCHANGE, facts, _ISSUED_TYPE)


def exchange_assertion(
    parameters: Mapping[str, str], client: OAuthClient | None, facts: RequestFacts
) -> IssuedToken:
    """Answer a request with a JWT bearer assertion. Raises OAuthError."""
    return _exchange(parameters, "assertion", JWT_BEARER, facts)


def _exchange(
    parameters: Mapping[str, str], member: str, grant: str, facts: RequestFacts, issued_type: str = ""
) -> IssuedToken:
    if not parameters.get(member):
        raise OAuthError(_INVALID_REQUEST, f"The parameter {member} is missing.")
    request = ExchangeRequest(
        parameters[member],
        audience=parameters.get("audience") or parameters.get("resource", ""),
        scopes=parse(parameters.get("scope")),
        request_id=facts.request_id,
        grant=grant,
    )
    try:
        exchanged = exchange_token(request, own_audiences=(settings.PUBLIC_URL, *settings.AUTHORIZED_URIS))
    except ExchangeRefused as refusal:
        raise OAuthError(refusal.error, refusal.description) from refusal
    except IssuerUnavailable as error:
        status = HTTPStatus.SERVICE_UNAVAILABLE
        raise OAuthError("temporarily_unavailable", error.detail, status=status) from error
    return _show(exchanged, issued_type)


def _show(exchanged: Exchanged, issued_type: str) -> IssuedToken:
    token = exchanged.token
    assert token.expires_at is not None
    seconds = int((token.expires_at - statement_now()).total_seconds())
    scope = " ".join(exchanged.scopes)
    return IssuedToken(exchanged.secret, seconds, scope, issued_token_type=issued_type)
