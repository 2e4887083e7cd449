"""Authentication classes for DRF: bearer token, console session, or anonymous (trials only)."""

from __future__ import annotations

import time
from collections.abc import Collection, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, Q, QuerySet, Subquery, UUIDField
from django.db.models.expressions import RawSQL
from django.db.models.functions import Now
from django.http import HttpRequest
from rest_framework import authentication
from rest_framework.request import Request

from controlplane.access import tokens
from controlplane.access.auth_metrics import (
    Method,
    count_authentication,
    count_token_check,
    note_known_token,
)
from controlplane.access.issuers import external_tokens
from controlplane.access.issuers.external_tokens import ExternalToken, find_external_token
from controlplane.access.issuers.verify import looks_like_jwt
from controlplane.access.known_callers import KNOWN_CALLERS, LAST_USED_PRECISION
from controlplane.access.models import CustomRole, Principal, RoleBinding, Token
from controlplane.access.organisations import confine_to_organisation, enter_organisation
from controlplane.access.role_bindings import bindings_in_force
from controlplane.access.step_up import login_of_session, login_of_token, with_login
from controlplane.access.team_models import Membership, Team
from controlplane.database.compiled_query import CompiledQuery, run_together
from controlplane.database.dispensable import write_if_possible
from controlplane.errors import NotAuthenticated
from controlplane.identity.callers import ANONYMOUS_READER, Caller
from controlplane.identity.ceilings import cut, teams_named
from controlplane.identity.grants import TeamRef
from controlplane.identity.logins import MACHINE, Login

_SCHEME = "bearer"
# Flyte's own, for ID tokens.
_IDENTITY_SCHEME = "idtoken"


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer cp_pat_…` (RFC 6750)."""

    def authenticate(self, request: Request) -> tuple[Caller, Token | ExternalToken] | None:
        header = request.headers.get("Authorization")
        if header is None:
            return None
        return caller_of_read(header) if request.method in ("GET", "HEAD") else caller_by_header(header)

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class SessionAuthentication(authentication.SessionAuthentication):
    """The console's session cookie, with DRF's CSRF check for every write."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        principal = getattr(request._request, "user", None)
        if not isinstance(principal, Principal) or not principal.is_active:
            return None
        self.enforce_csrf(request)
        count_authentication(Method.SESSION, accepted=True)
        return session_caller(request._request, principal), None


class AnonymousReadAuthentication(authentication.BaseAuthentication):
    """Anonymous reads, if ANONYMOUS_READ is on."""

    def authenticate(self, request: Request) -> tuple[Caller, None] | None:
        if settings.ANONYMOUS_READ and request.method in ("GET", "HEAD"):
            count_authentication(Method.ANONYMOUS, accepted=True)
            return ANONYMOUS_READER, None
        return None


def caller_of_read(header: str) -> tuple[Caller, Token | ExternalToken]:
    """Return `caller_by_header`, known from an earlier read of this process if nothing has changed since."""
    began = time.perf_counter()
    digest = tokens.digest(header)
    if known := KNOWN_CALLERS.find(digest):
        note_known_token(time.perf_counter() - began)
        return _entered(known.caller, known.caller.login), known.token
    caller, token = caller_by_header(header, is_read=True)
    if isinstance(token, Token):
        KNOWN_CALLERS.keep(digest, caller, token)
    return caller, token


def caller_by_header(
    header: str, *, id_tokens: bool = False, is_read: bool = False
) -> tuple[Caller, Token | ExternalToken]:
    """Return the caller and token for an Authorization header. Raises NotAuthenticated, IssuerUnavailable.

    id_tokens: accept Flyte's scheme `IDToken` too. is_read: read what can be kept for further reads too.
    """
    scheme, _, secret = header.partition(" ")
    schemes = (_SCHEME, _IDENTITY_SCHEME) if id_tokens else (_SCHEME,)
    if scheme.lower() in schemes and external_tokens.is_enabled() and looks_like_jwt(secret.strip()):
        with count_token_check(Method.EXTERNAL_TOKEN):
            external = find_external_token(secret.strip(), is_identity=scheme.lower() == _IDENTITY_SCHEME)
        return authenticated(external.principal, external.scopes, external.login), external
    with count_token_check():
        digest = _digest_of(bearer_of(header))
        rows = _TOKENS_OF_READS if is_read else _TOKENS
        found, bindings = run_together((rows, [digest]), (_BINDINGS_OF_TOKEN, [digest]))
        token = _valid(next(iter(found), None))
    caller = build_caller(token.principal, bindings, token.scopes)
    if is_read:
        caller = replace(caller, teams=tuple(token.team_names))  # type: ignore[attr-defined]  # annotated
    return _entered(caller, login_of_token(token)), token


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
    return _entered(caller_for(principal, scopes), login)


def _entered(caller: Caller, login: Login) -> Caller:
    caller = with_login(caller, login)
    enter_organisation(caller)
    return caller


def find_token(secret: str) -> Token:
    """Return the valid token with this secret. Raises NotAuthenticated with the reason.

    The reason reveals nothing to a client without the secret.
    """
    with count_token_check():
        return _valid(_TOKENS.first(_digest_of(secret)))


def _digest_of(secret: str) -> bytes:
    """Return the digest of a secret that can be a token of the API. Raises NotAuthenticated."""
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
    return tokens.digest(secret)


def _valid(token: Token | None) -> Token:
    """Return the token and remember its use. Raises NotAuthenticated."""
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
    if token.last_used_at is None or now - token.last_used_at > LAST_USED_PRECISION:
        write_if_possible(lambda: Token.objects.filter(pk=token.pk).update(last_used_at=Now()))


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


def _bindings_of_token(digest: bytes) -> QuerySet[RoleBinding]:
    """Return `bindings_of` the principal of the token with this digest."""
    principal_id = Token.objects.filter(digest=digest).values("principal_id")
    team_ids = Membership.objects.filter(principal_id=Subquery(principal_id)).values("team_id")
    return bindings_in_force().filter(Q(principal_id=Subquery(principal_id)) | Q(team_id__in=team_ids))


def _token_with(digest: bytes) -> QuerySet[Token]:
    rows = Token.objects.filter(digest=digest).select_related("principal", "oauth__client")
    return rows.annotate(now=Now())


def _token_of_read_with(digest: bytes) -> QuerySet[Token]:
    """Return `_token_with`, the access epoch of the same moment, and the teams of the principal."""
    teams = Team.objects.filter(memberships__principal_id=OuterRef("principal_id"))
    epoch: Any = RawSQL("SELECT epoch FROM access_epoch WHERE id = 1", [], output_field=UUIDField())
    names = ArraySubquery(teams.distinct().order_by("slug").values("slug"))
    return _token_with(digest).annotate(epoch=epoch, team_names=names)


# These run with every request of the API, but for reads of known callers.
_TOKENS = CompiledQuery(_token_with, bytes(32))
_TOKENS_OF_READS = CompiledQuery(_token_of_read_with, bytes(32))
_BINDINGS_OF_TOKEN = CompiledQuery(_bindings_of_token, bytes(32))
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
