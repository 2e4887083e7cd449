"""Providers as documents: in the API, in IDENTITY_PROVIDERS_FILE and in the database. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec

from controlplane.access.login.oidc.claims import ClaimRule
from controlplane.access.login.oidc.provider import (
    DEFAULT_ORGANISATION,
    TENANT,
    Provider,
    ProviderKind,
    ProviderSource,
)
from controlplane.errors import FieldError, InvalidIdentityProvider, InvalidScope
from controlplane.scopes import SEGMENTS, Scope

_SLUG = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_TENANT_ID = re.compile(r"[0-9a-f]{8}-([0-9a-f]{4}-){3}[0-9a-f]{12}")
_DOMAIN = re.compile(r"[a-z0-9-]+(\.[a-z0-9-]+)+")
_SHARED_TENANTS = ("/common/", "/organizations/", "/consumers/")
_LOOPBACK = ("localhost", "127.0.0.1", "::1")
_MAX_TEXT, _MAX_LIST = 255, 200


class RuleDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A rule of a provider. claim: default is the provider's `group_claim`."""

    value: str
    claim: str = ""
    team: str = ""
    role: str = ""
    scope: dict[str, str] = {}


class ProviderDocument(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A provider without its secret."""

    slug: str
    issuer: str
    client_id: str
    title: str = ""
    kind: ProviderKind = ProviderKind.GENERIC
    scopes: tuple[str, ...] = ("openid", "profile", "email")
    group_claim: str = "groups"
    rules: list[RuleDocument] = []
    authoritative: bool = False
    allowed_domains: list[str] = []
    tenants: list[str] = []
    organisation: str = DEFAULT_ORGANISATION
    is_active: bool = True


def parse_provider(document: Mapping[str, Any], secret: str, source: ProviderSource) -> Provider:
    """Return the provider that a document describes. Raises InvalidIdentityProvider with all errors."""
    try:
        parsed = msgspec.convert(document, ProviderDocument)
    except msgspec.ValidationError as error:
        raise _invalid([_shape_error(str(error))]) from error
    errors = list(_errors(parsed))
    if errors:
        raise _invalid(errors)
    return Provider(
        slug=parsed.slug,
        issuer=parsed.issuer,
        client_id=parsed.client_id,
        client_secret=secret,
        title=parsed.title,
        kind=parsed.kind,
        scopes=tuple(parsed.scopes),
        group_claim=parsed.group_claim,
        rules=tuple(_rule(rule, parsed.group_claim) for rule in parsed.rules),
        is_authoritative=parsed.authoritative,
        allowed_domains=tuple(parsed.allowed_domains),
        tenants=tuple(parsed.tenants),
        organisation=parsed.organisation,
        is_active=parsed.is_active,
        source=source,
    )


def provider_document(provider: Provider) -> dict[str, Any]:
    """Return the document of a provider, without its secret."""
    return {
        "slug": provider.slug,
        "issuer": provider.issuer,
        "client_id": provider.client_id,
        "title": provider.title,
        "kind": provider.kind.value,
        "scopes": list(provider.scopes),
        "group_claim": provider.group_claim,
        "rules": [_rule_document(rule) for rule in provider.rules],
        "authoritative": provider.is_authoritative,
        "allowed_domains": list(provider.allowed_domains),
        "tenants": list(provider.tenants),
        "organisation": provider.organisation,
        "is_active": provider.is_active,
    }


def _rule(document: RuleDocument, group_claim: str) -> ClaimRule:
    claim = document.claim or group_claim
    return ClaimRule(claim, document.value, document.team, document.role, dict(document.scope))


def _rule_document(rule: ClaimRule) -> dict[str, Any]:
    return {
        "claim": rule.claim,
        "value": rule.value,
        "team": rule.team,
        "role": rule.role,
        "scope": dict(rule.scope or {}),
    }


def _errors(document: ProviderDocument) -> Iterator[FieldError]:
    if not _SLUG.fullmatch(document.slug):
        yield _error("/slug", "The name must have 1 to 63 lowercase letters, digits or inner hyphens.")
    yield from _issuer_errors(document)
    for name in ("client_id", "group_claim"):
        if not getattr(document, name) or len(getattr(document, name)) > _MAX_TEXT:
            yield _error(f"/{name}", f"{name} must have 1 to {_MAX_TEXT} characters.")
    if "openid" not in document.scopes:
        yield _error("/scopes", "The scopes must include openid.")
    for name in ("scopes", "rules", "allowed_domains", "tenants"):
        if len(getattr(document, name)) > _MAX_LIST:
            yield _error(f"/{name}", f"The list can have at most {_MAX_LIST} items.")
    yield from _limit_errors(document)
    for number, rule in enumerate(document.rules[:_MAX_LIST]):
        yield from _rule_errors(rule, f"/rules/{number}")


def _issuer_errors(document: ProviderDocument) -> Iterator[FieldError]:
    try:
        parts = urlsplit(document.issuer)
        host = parts.hostname or ""
    except ValueError:
        yield _error("/issuer", "The issuer must be a URL.")
        return
    is_secure = parts.scheme == "https" or (parts.scheme == "http" and host in _LOOPBACK)
    if not is_secure or not host or parts.username or parts.query or parts.fragment:
        yield _error("/issuer", "The issuer must be an https:// URL without user name, query or fragment.")
    if TENANT in document.issuer and not document.tenants:
        yield _error("/tenants", f"An issuer with {TENANT} requires `tenants`: the ids of allowed tenants.")
    if any(shared in f"{document.issuer}/" for shared in _SHARED_TENANTS) and "microsoft" in host:
        message = f"Use {TENANT} in the issuer, and list the allowed tenants in `tenants`."
        yield _error("/issuer", message)


def _limit_errors(document: ProviderDocument) -> Iterator[FieldError]:
    if document.kind is ProviderKind.GOOGLE and not document.allowed_domains:
        yield _error("/allowed_domains", "Google requires the domains whose people may log in.")
    for number, domain in enumerate(document.allowed_domains):
        if not _DOMAIN.fullmatch(domain):
            yield _error(f"/allowed_domains/{number}", "Use a domain in lower case, such as example.com.")
    for number, tenant in enumerate(document.tenants):
        if not _TENANT_ID.fullmatch(tenant):
            yield _error(f"/tenants/{number}", "Use the tenant's id: a UUID in lower case.")


def _rule_errors(rule: RuleDocument, pointer: str) -> Iterator[FieldError]:
    if not rule.value or "*" in rule.value[:-1]:
        yield _error(f"{pointer}/value", "The value must not be empty, and can have `*` only at its end.")
    if not rule.team and not rule.role:
        yield _error(pointer, "A rule must give a team, a role or both.")
    if rule.scope and not rule.role:
        yield _error(f"{pointer}/scope", "A scope has no effect without a role.")
    if unknown := sorted(set(rule.scope) - set(SEGMENTS)):
        yield _error(f"{pointer}/scope", f"Unknown segments: {', '.join(unknown)}.")
        return
    if any("*" in segment for segment in rule.scope.values()) and not rule.value.endswith("*"):
        yield _error(f"{pointer}/scope", "`*` in a scope requires a value that ends with `*`.")
    try:
        Scope(**rule.scope)
    except InvalidScope as error:
        yield _error(f"{pointer}/scope", error.detail)


def _shape_error(message: str) -> FieldError:
    """Return msgspec's error, such as "Expected `str`, got `int` - at `$.rules[0].value`"."""
    text, _, place = message.partition(" - at `$")
    pointer = re.sub(r"[.\[]", "/", place.rstrip("`")).replace("]", "")
    return FieldError(pointer, "invalid", text.replace("`", "") + ".")


def _error(pointer: str, message: str) -> FieldError:
    return FieldError(pointer, "invalid", message)


def _invalid(errors: list[FieldError]) -> InvalidIdentityProvider:
    message = " ".join(f"{error.pointer}: {error.message}" for error in errors[:3])
    return InvalidIdentityProvider(message, errors=errors)
