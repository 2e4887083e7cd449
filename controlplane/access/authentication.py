"""Authentication classes for DRF: bearer token, console session, or anonymous (trials only)."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from rest_framework import authentication
from rest_framework.request import Request

from controlplane.access import tokens
from controlplane.access.issuers import external_tokens
from controlplane.access.issuers.external_tokens import ExternalToken, find_external_token
from controlplane.access.issuers.verify import looks_like_jwt
from controlplane.access.models import CustomRole, Principal, RoleBinding, Token
from controlplane.access.organisations import confine_to_organisation, enter_organisation
from controlplane.access.role_bindings import bindings_in_force
from controlplane.access.step_up import login_of_session, login_of_token, with_login
from controlplane.access.team_models import Membership, Team
from controlplane.database.compiled_query import CompiledQuery
from controlplane.errors import NotAuthenticated
from controlplane.identity.callers import ANONYMOUS_READER, Caller
from controlplane.identity.ceilings import cut, teams_named
from controlplane.identity.logins import MACHINE, Login
from controlplane.identity.roles import TeamRef

# Minimum time between two writes per token: "last used" is not worth a write per request.
_LAST_USED_PRECISION = timedelta(minutes=1)
_SCHEME = "bearer"
# Flyte's own, for ID tokens.
_IDENTITY_SCHEME = "idtoken"


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer cp_pat_…` (RFC 6750)."""

    def authenticate(self, request: Request) -> tuple[Caller, Token | ExternalToken] | None:
        header = request.headers.get("Authorization")
        if header is None:
            return None
        return caller_by_header(header)

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class SessionAuthentication(authentication.SessionAuthentication):
    """The console's session cookie, with DRF's CSRF check for every write."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        principal = getattr(request._request, "user", None)
        if not isinstance(principal, Principal) or not principal.is_active:
            return None
        self.enforce_csrf(request)
        return session_caller(request._request, principal), None


class AnonymousReadAuthentication(authentication.BaseAuthentication):
    """Anonymous reads, if ANONYMOUS_READ is on."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        if settings.ANONYMOUS_READ and request.method in ("GET", "HEAD"):
            return ANONYMOUS_READER, None
        return None


def caller_by_header(header: str, *, id_tokens: bool = False) -> tuple[Caller, Token | ExternalToken]:
    """Return the caller and token for an Authorization header. Raises NotAuthenticated, IssuerUnavailable.

    id_tokens: accept Flyte's scheme `IDToken` too.
    """
    scheme, _, secret = header.partition(" ")
    schemes = (_SCHEME, _IDENTITY_SCHEME) if id_tokens else (_SCHEME,)
    if scheme.lower() in schemes and external_tokens.is_enabled() and looks_like_jwt(secret.strip()):
        external = find_external_token(secret.strip(), is_identity=scheme.lower() == _IDENTITY_SCHEME)
        return authenticated(external.principal, external.scopes, external.login), external
    token = find_token(bearer_of(header))
    return authenticated(token.principal, token.scopes, login_of_token(token)), token


def bearer_of(header: str) -> str:
    """Return the secret in an Authorization header. Raises NotAuthenticated."""
    scheme, _, secret = header.partition(" ")
    if scheme.lower() != _SCHEME:
        raise NotAuthenticated(
            "The Authorization header is not a bearer token. Send: Authorization: Bearer cp_pat_…"
        )
    return secret.strip()


def authenticated(
    principal: Principal, scopes: Sequence[str] | None = None, login: Login = MACHINE
) -> Caller:
    """Return the caller of the request in this transaction; it sees only rows of its organisation."""
    caller = with_login(caller_for(principal, scopes), login)
    enter_organisation(caller)
    return caller


def find_token(secret: str) -> Token:
    """Return the valid token with this secret. Raises NotAuthenticated with the reason.

    The reason reveals nothing to a client without the secret.
    """
    if not tokens.looks_like_token(secret):
        raise NotAuthenticated(
            "Invalid token: it is malformed or incomplete. Check that you sent the whole token."
        )
    if secret.startswith(tokens.Prefix.JOIN):
        raise NotAuthenticated(
            "Join tokens are valid only for POST /api/v1/agents:join. Use the token that it returned."
        )
    if secret.startswith((tokens.Prefix.REFRESH, tokens.Prefix.CLIENT_SECRET)):
        raise NotAuthenticated(
            "Refresh tokens and client secrets are valid only for POST /oauth2/token. Use the access token"
            " that it returned."
        )
    token = _TOKENS.first(tokens.digest(secret))
    now: Any = getattr(token, "now", None)
    if token is None:
        raise NotAuthenticated("Unknown token. It may belong to another installation.")
    if token.revoked_at is not None:
        raise NotAuthenticated("This token was revoked. Create a new one.")
    if token.expires_at is not None and token.expires_at <= now:
        raise NotAuthenticated("This token has expired. Create a new one.")
    if not token.principal.is_active:
        raise NotAuthenticated("The principal of this token is disabled.")
    _remember_use(token, now)
    return token


def _remember_use(token: Token, now: datetime) -> None:
    if token.last_used_at is None or now - token.last_used_at > _LAST_USED_PRECISION:
        Token.objects.filter(pk=token.pk).update(last_used_at=Now())


def session_caller(request: HttpRequest, principal: Principal) -> Caller:
    """Return the caller of a request with a console session."""
    return authenticated(principal, login=login_of_session(request.session))


def caller_for(principal: Principal, scopes: Sequence[str] | None = None) -> Caller:
    """Return the caller with the principal's current grants, so that a revoked role has no effect at once.

    scopes: ceilings of the token in use; None for none.
    """
    return build_caller(principal, _BINDINGS.rows(principal.id), scopes)


def build_caller(
    principal: Principal, bindings: Sequence[RoleBinding], scopes: Sequence[str] | None
) -> Caller:
    """Return the caller with the grants of these bindings, cut by the scopes of its token."""
    grants = tuple(binding.grant for binding in bindings)
    if scopes is not None:
        grants = cut(grants, scopes, _teams(teams_named(scopes), principal))
    grants, tenant = confine_to_organisation(principal, grants)
    limits = None if scopes is None else tuple(scopes)
    ends = (binding.expires_at for binding in bindings if binding.expires_at is not None)
    return Caller(
        principal.id, principal.name, principal.kind, grants, limits, min(ends, default=None), tenant
    )


def bindings_of(principal_id: UUID) -> QuerySet[RoleBinding]:
    """Return the bindings in force of the principal and of its teams."""
    team_ids = Membership.objects.filter(principal_id=principal_id).values("team_id")
    return bindings_in_force().filter(Q(principal_id=principal_id) | Q(team_id__in=team_ids))


def _token_with(digest: bytes) -> QuerySet[Token]:
    rows = Token.objects.filter(digest=digest).select_related("principal", "oauth__client")
    return rows.annotate(now=Now())


# Both run with every request of the API.
_TOKENS = CompiledQuery(_token_with, bytes(32))
_BINDINGS = CompiledQuery(bindings_of, UUID(int=0))


def lock_bindings(principal_id: UUID) -> list[RoleBinding]:
    """Lock and return what `bindings_of` returns, with the memberships and operators' own roles behind it.

    Each statement sees the changes for which the one before has waited. Needs a transaction.
    """
    memberships = Membership.objects.select_for_update(no_key=True).filter(principal_id=principal_id)
    team_ids = list(memberships.order_by("id").values_list("team_id", flat=True))
    rows = bindings_in_force().filter(Q(principal_id=principal_id) | Q(team_id__in=team_ids))
    bindings = list(rows.select_for_update(no_key=True, of=("self",)).order_by("id"))
    roles = CustomRole.objects.select_for_update(no_key=True).order_by("id")
    by_id = {role.id: role for role in roles.filter(id__in={binding.custom_role_id for binding in bindings})}
    for binding in bindings:
        if binding.custom_role_id is not None:
            binding.custom_role = by_id[binding.custom_role_id]
    return bindings


def _teams(names: Collection[str], principal: Principal) -> dict[str, TeamRef]:
    if not names:
        return {}
    teams = Team.objects.filter(slug__in=names, organisation=principal.organisation_id)
    return {team.slug: team.ref for team in teams}
