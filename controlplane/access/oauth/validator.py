"""Decisions that the protocol engine asks for: clients, scopes, codes and the storage of tokens.

Django OAuth Toolkit answers what concerns codes and PKCE; it sees only the digests of codes. Its storage of
tokens is replaced: access tokens go into the table of all tokens, and refresh tokens have families.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from oauth2_provider.oauth2_validators import OAuth2Validator
from oauthlib.oauth2 import InvalidGrantError

from controlplane.access.oauth import (
    codes,
    device_codes,
    event_types,
    issuance,
    jwt_tokens,
    refresh,
    revocation,
    scopes,
)
from controlplane.access.oauth.client_authentication import authenticate, find_client
from controlplane.access.oauth.credentials import read_credentials
from controlplane.access.oauth.issuance import Issue
from controlplane.access.oauth.models import AccessGrant, OAuthClient, RefreshToken, TokenFamily
from controlplane.access.oauth.redirects import is_allowed
from controlplane.database.clock import statement_now

_CODE = "authorization_code"
_CREDENTIALS = "client_credentials"
_REFRESH = "refresh_token"


class Validator(OAuth2Validator):  # type: ignore[misc]  # it has no types
    """The validator of the authorization server, for one request."""

    # Clients

    def _load_application(self, client_id: str, request: Any) -> OAuthClient | None:
        if not isinstance(request.client, OAuthClient) or request.client.client_id != client_id:
            request.client = find_client(client_id or "")
        client: OAuthClient | None = request.client
        return client

    def client_authentication_required(self, request: Any, *args: Any, **kwargs: Any) -> bool:
        return True

    def authenticate_client(self, request: Any, *args: Any, **kwargs: Any) -> bool:
        parameters = {"client_id": request.client_id or "", "client_secret": request.client_secret or ""}
        credentials = read_credentials(request.headers.get("Authorization", ""), parameters)
        client = authenticate(credentials)
        if client is None or (request.client_id or client.client_id) != client.client_id:
            return False
        request.client, request.client_id = client, client.client_id
        return True

    def authenticate_client_id(self, client_id: str, request: Any, *args: Any, **kwargs: Any) -> bool:
        return False

    def validate_grant_type(
        self, client_id: str, grant_type: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        if not request.client.allows_grant_type(grant_type):
            return False
        jwt_tokens.requested_audience(request)
        return grant_type != _CREDENTIALS or _has_active_principal(request.client)

    def validate_response_type(
        self, client_id: str, response_type: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        return response_type == "code" and bool(client.allows_grant_type(_CODE))

    def validate_redirect_uri(
        self, client_id: str, redirect_uri: str, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        client = request.client
        return is_allowed(redirect_uri, client.redirect_uris.split(), is_public=client.is_public)

    def is_pkce_required(self, client_id: str, request: Any) -> bool:
        return True

    # Scopes

    def get_default_scopes(self, client_id: str, request: Any, *args: Any, **kwargs: Any) -> list[str]:
        return list(request.client.default_scopes)

    def validate_scopes(
        self, client_id: str, names: Any, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Reduce the scopes to those that the client may have; False if none is left."""
        request.scopes = list(scopes.granted(names, client.allowed_scopes, client.default_scopes))
        return bool(request.scopes)

    # Authorization codes: only their digests reach the toolkit.

    def _create_authorization_code(self, request: Any, code: Any, expires: Any = None) -> AccessGrant:
        grant = super()._create_authorization_code(request, {"code": codes.digest_of(code["code"])}, expires)
        AccessGrant.objects.filter(id=grant.id).update(
            audience=getattr(request, "audience", None) or "", auth_time=getattr(request, "auth_time", None)
        )
        return grant  # type: ignore[no-any-return]  # the toolkit has no types

    def validate_code(
        self, client_id: str, code: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        """Lock the code, so that of two requests with it only the first gets tokens."""
        grant = codes.lock_code(code, client)
        if grant is None:
            return False
        if grant.used_at is not None:
            if grant.family is not None:
                issuance.revoke_family(grant.family, event_types.CODE_REUSED)
            return False
        if not grant.user.is_active:
            return False
        request.grant = grant
        return bool(super().validate_code(client_id, codes.digest_of(code), client, request))

    def get_code_challenge(self, code: str, request: Any) -> Any:
        return super().get_code_challenge(codes.digest_of(code), request)

    def get_code_challenge_method(self, code: str, request: Any) -> Any:
        return super().get_code_challenge_method(codes.digest_of(code), request)

    def confirm_redirect_uri(
        self, client_id: str, code: str, redirect_uri: str, client: Any, *args: Any, **kwargs: Any
    ) -> bool:
        if not super().confirm_redirect_uri(client_id, codes.digest_of(code), redirect_uri, client):
            # RFC 6749 section 5.2; the engine would answer `invalid_request`.
            raise InvalidGrantError("The redirect URI is not that of the authorization request.")
        return True

    def get_authorization_code_scopes(
        self, client_id: str, code: str, redirect_uri: str, request: Any
    ) -> list[str]:
        names: list[str] = super().get_authorization_code_scopes(
            client_id, codes.digest_of(code), redirect_uri, request
        )
        return names

    def invalidate_authorization_code(
        self, client_id: str, code: str, request: Any, *args: Any, **kwargs: Any
    ) -> None:
        """Keep the used code until it expires: a second use must revoke what the first use gave."""
        codes.mark_used(request.grant, getattr(request, "family", None))

    # Refresh tokens and device codes

    def validate_refresh_token(
        self, refresh_token: str, client: Any, request: Any, *args: Any, **kwargs: Any
    ) -> bool:
        row = refresh.lock_refresh_token(refresh_token, client)
        if row is None:
            return False
        request.used_token, request.family, request.user = row, row.family, row.family.principal
        return True

    def get_original_scopes(self, refresh_token: str, request: Any, *args: Any, **kwargs: Any) -> list[str]:
        """Return the scopes of the login that the client still may have."""
        names = scopes.granted(request.family.scopes, request.client.allowed_scopes)
        if not names:
            raise InvalidGrantError("The client may no longer have these scopes.", request=request)
        return list(names)

    def validate_device_code(self, client_id: str, device_code: str, request: Any, *args: Any) -> str | None:
        poll = device_codes.poll(device_code, request.client)
        if poll.code is not None:
            request.device = poll.code
            request.user, request.scopes = poll.code.principal, list(poll.code.scopes)
        return poll.status

    # Storage of tokens

    def save_bearer_token(self, token: Any, request: Any, *args: Any, **kwargs: Any) -> None:
        """Store digests of the tokens, and complete the response. Runs in the request's transaction."""
        if request.grant_type == _CREDENTIALS:
            request.user = request.client.principal
        audience = jwt_tokens.requested_audience(request)
        names = tuple(request.scopes)
        family = self._family_of(request, names, audience)
        lifetime = issuance.access_lifetime()
        if family is not None:
            lifetime = min(lifetime, max(family.ends_at - statement_now(), timedelta(seconds=1)))
        issue = Issue(request.user, names, request.grant_type, lifetime, request.client, family, audience)
        token["expires_in"] = int(lifetime.total_seconds())
        jwt_tokens.replace_by_jwt(token, issue)
        issuance.store_access_token(token["access_token"], issue)
        used_token: RefreshToken | None = getattr(request, "used_token", None)
        if used_token is not None:
            refresh.mark_replaced(used_token)
        if family is not None and scopes.allows_refresh(family.scopes):
            generation = used_token.generation if used_token else 0
            issuance.store_refresh_token(token["refresh_token"], family, generation)
        else:
            token.pop("refresh_token", None)
        jwt_tokens.add_id_token(token, issue, getattr(request, "grant", None))

    def _family_of(self, request: Any, names: tuple[str, ...], audience: str) -> TokenFamily | None:
        if request.grant_type == _CREDENTIALS:
            return None
        family: TokenFamily | None = getattr(request, "family", None)
        if family is None:
            origin = getattr(request, "grant", None) or getattr(request, "device", None)
            family = issuance.start_family(
                request.client,
                request.user,
                names,
                grant=request.grant_type,
                audience=audience,
                auth_time=getattr(origin, "auth_time", None),
            )
            request.family = family
        if device := getattr(request, "device", None):
            device_codes.mark_used(device, family)
        return family

    def revoke_token(self, token: str, token_type_hint: str, request: Any, *args: Any, **kwargs: Any) -> None:
        revocation.revoke_token(token, request.client)


def _has_active_principal(client: OAuthClient) -> bool:
    return client.principal is not None and client.principal.is_active
