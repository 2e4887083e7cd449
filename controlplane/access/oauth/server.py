"""The protocol engine (oauthlib): grants and response types that this server has, and no others."""

from __future__ import annotations

import re
import secrets
from typing import Any

from oauthlib.oauth2 import (
    AuthorizationCodeGrant,
    AuthorizationEndpoint,
    BearerToken,
    ClientCredentialsGrant,
    InvalidRequestError,
    RefreshTokenGrant,
    RevocationEndpoint,
    TokenEndpoint,
)
from oauthlib.oauth2.rfc8628.grant_types import DeviceCodeGrant

from controlplane.access import tokens
from controlplane.access.oauth.metadata import DEVICE_GRANT

# Base64url of a SHA-256 digest (RFC 7636 section 4.2).
_CHALLENGE = re.compile(r"[A-Za-z0-9_-]{43}")
_CODE_BYTES = 32
_LENGTHS = {"state": 2048, "nonce": 255, "audience": 255}


def new_access_token(request: Any) -> str:
    return tokens.new_token(tokens.Prefix.OAUTH)


def new_refresh_token(request: Any) -> str:
    return tokens.new_token(tokens.Prefix.REFRESH)


def new_code() -> str:
    """Return 43 characters that need no escaping in URLs and HTML."""
    return secrets.token_urlsafe(_CODE_BYTES)


class CodeGrant(AuthorizationCodeGrant):  # type: ignore[misc]  # oauthlib has no types
    """Authorization codes, always with PKCE by S256."""

    def create_authorization_code(self, request: Any) -> dict[str, str]:
        return {"code": new_code()} | ({"state": request.state} if request.state else {})

    def validate_authorization_request(self, request: Any) -> Any:
        # Codes are returned in the query, and the claims parameter is not supported.
        request.response_mode, request.claims = "query", None
        answer = super().validate_authorization_request(request)
        for name, most in _LENGTHS.items():
            value = getattr(request, name, None) or ""
            if len(value) > most or not value.isprintable():
                raise InvalidRequestError(description=f"The parameter {name} is malformed.", request=request)
        if request.code_challenge_method != "S256" or not _CHALLENGE.fullmatch(request.code_challenge):
            raise InvalidRequestError(
                description="PKCE requires code_challenge_method=S256 with a challenge of 43 characters.",
                request=request,
            )
        return answer


class AuthorizationServer(AuthorizationEndpoint, TokenEndpoint, RevocationEndpoint):  # type: ignore[misc]
    """Endpoints of oauthlib with our grants: neither implicit nor password."""

    def __init__(
        self,
        request_validator: Any,
        token_expires_in: Any = None,
        token_generator: Any = None,
        refresh_token_generator: Any = None,
        **kwargs: Any,
    ) -> None:
        self.request_validator = request_validator
        bearer = BearerToken(
            request_validator,
            token_generator or new_access_token,
            token_expires_in,
            refresh_token_generator or new_refresh_token,
        )
        codes = CodeGrant(request_validator)
        self.device_codes = DeviceCodeGrant(request_validator)
        AuthorizationEndpoint.__init__(self, "code", bearer, {"code": codes})
        grants = {
            "authorization_code": codes,
            "client_credentials": ClientCredentialsGrant(request_validator),
            "refresh_token": RefreshTokenGrant(request_validator),
            DEVICE_GRANT: self.device_codes,
        }
        TokenEndpoint.__init__(self, "authorization_code", bearer, grants)
        RevocationEndpoint.__init__(self, request_validator)
