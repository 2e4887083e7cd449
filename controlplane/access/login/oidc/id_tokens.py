"""Checks of an ID token beyond its signature, issuer, audience and times. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from hmac import compare_digest
from typing import Any

from authlib.oidc.core.util import create_half_hash

from controlplane.access.issuers.verify import Expectations
from controlplane.access.login.oidc.claims import check_groups_complete
from controlplane.access.login.oidc.provider import TENANT, Provider, ProviderKind
from controlplane.errors import LoginRefused

# Keycloak sends `JWT`, others nothing. An access token (`at+jwt`) or a logout token is no ID token.
_TYPES = frozenset({"jwt", ""})


@dataclass(frozen=True, slots=True)
class LoginAnswer:
    """What belongs to an ID token in its login. algorithm: of the token's signature."""

    nonce: str
    access_token: str
    algorithm: str


def expectations(provider: Provider, claims: Mapping[str, Any]) -> Expectations:
    """Return what the signature check must expect of a token with these, yet unverified, claims."""
    return Expectations(
        provider.issuer_for(claims),
        frozenset({provider.client_id}),
        authorized_party=provider.client_id,
        types=_TYPES,
    )


def check_id_token(provider: Provider, claims: Mapping[str, Any], answer: LoginAnswer) -> None:
    """Check the claims of a token with a valid signature. Raises LoginRefused, TooManyGroups."""
    nonce = claims.get("nonce")
    if not isinstance(nonce, str) or not compare_digest(nonce.encode(), answer.nonce.encode()):
        raise _refusal("nonce")
    at_hash = claims.get("at_hash")
    if at_hash is not None and not _is_hash_of(at_hash, answer):
        raise _refusal("at_hash")
    check_account(provider, claims)


def check_account(provider: Provider, claims: Mapping[str, Any]) -> None:
    """Check that the account may log in here: its tenant, its domain and the completeness of its groups."""
    if (provider.tenants or TENANT in provider.issuer) and claims.get("tid") not in provider.tenants:
        raise LoginRefused("Your Entra tenant is not in the list of allowed tenants. Ask your operator.")
    if provider.allowed_domains and _domain(provider, claims) not in provider.allowed_domains:
        raise LoginRefused("Accounts of your domain may not log in here. Use the account of your work.")
    check_groups_complete(claims, provider.group_claim)


def is_incomplete(provider: Provider, claims: Mapping[str, Any]) -> bool:
    """True if the userinfo endpoint must be asked: the groups or the e-mail address are missing."""
    needs_groups = any(rule.claim == provider.group_claim for rule in provider.rules)
    root = provider.group_claim.partition(".")[0]
    has_groups = any(claims.get(name) is not None for name in (provider.group_claim, root))
    return (needs_groups and not has_groups) or claims.get("email") is None


def with_userinfo(claims: Mapping[str, Any], userinfo: Mapping[str, Any]) -> dict[str, Any]:
    """Return the claims of both; the ID token's win. Raises LoginRefused if they are of different people."""
    if userinfo.get("sub") != claims.get("sub"):
        raise _refusal("sub")
    return {**userinfo, **{name: value for name, value in claims.items() if value is not None}}


def _domain(provider: Provider, claims: Mapping[str, Any]) -> str:
    """Return the domain that the provider vouches for; an unverified address proves nothing."""
    if provider.kind is ProviderKind.GOOGLE:
        return str(claims.get("hd", "")).lower()
    email = claims.get("email")
    if claims.get("email_verified") is not True or not isinstance(email, str):
        return ""
    return email.rpartition("@")[2].lower()


def _is_hash_of(at_hash: object, answer: LoginAnswer) -> bool:
    expected = create_half_hash(answer.access_token, answer.algorithm)
    expected = expected.decode() if isinstance(expected, bytes) else expected
    return isinstance(at_hash, str) and isinstance(expected, str) and compare_digest(at_hash, expected)


def _refusal(claim: str) -> LoginRefused:
    return LoginRefused(
        f"The provider's ID token does not belong to this login (claim `{claim}`). Start the login again."
    )
