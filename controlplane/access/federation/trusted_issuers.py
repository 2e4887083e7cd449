"""Changes of trusted issuers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit
from uuid import UUID

from django.db import IntegrityError, transaction

from controlplane.access import audit
from controlplane.access.federation.event_types import ISSUER_CHANGED, ISSUER_CREATED, ISSUER_DELETED
from controlplane.access.federation.rule_checks import rule_errors
from controlplane.access.federation.rules import Rule
from controlplane.access.federation.stored_rules import show_rule
from controlplane.access.issuer_models import TrustedIssuer
from controlplane.access.issuers.documents import is_acceptable
from controlplane.access.issuers.public_keys import read_keys
from controlplane.access.models import Principal, PrincipalKind
from controlplane.errors import FieldError, InvalidRequest, NameTaken, UnknownTrustedIssuer
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.preconditions import Precondition, check


@dataclass(frozen=True, slots=True)
class IssuerSpec:
    """A trusted issuer to create, or as which one is replaced. jwks: its keys if they are pinned."""

    issuer: str
    audiences: tuple[str, ...]
    rules: tuple[Rule, ...]
    max_ttl: int
    jwks_uri: str = ""
    jwks: Mapping[str, Any] | None = None


def get_trusted_issuer(issuer_id: UUID) -> TrustedIssuer:
    """Return the issuer. Raises UnknownTrustedIssuer."""
    issuer = TrustedIssuer.objects.filter(id=issuer_id).first()
    if issuer is None:
        raise UnknownTrustedIssuer("The trusted issuer does not exist.")
    return issuer


@transaction.atomic
def create_trusted_issuer(spec: IssuerSpec, *, actor: Actor) -> TrustedIssuer:
    """Trust an issuer. Raises InvalidRequest, NameTaken."""
    _check_spec(spec)
    issuer = TrustedIssuer(**_columns(spec))
    _save(issuer)
    issuer.refresh_from_db()
    _record(ISSUER_CREATED, issuer, actor, before=None, after=issuer_state(issuer))
    return issuer


@transaction.atomic
def replace_trusted_issuer(
    issuer_id: UUID, spec: IssuerSpec, *, actor: Actor, precondition: Precondition | None
) -> TrustedIssuer:
    """Replace an issuer. Raises UnknownTrustedIssuer, InvalidRequest, NameTaken, VersionMismatch."""
    issuer = _lock(issuer_id, precondition)
    _check_spec(spec)
    before = issuer_state(issuer)
    for name, value in _columns(spec).items():
        setattr(issuer, name, value)
    if issuer_state(issuer) == before:
        return issuer
    issuer.version += 1
    _save(issuer)
    _record(ISSUER_CHANGED, issuer, actor, before=before, after=issuer_state(issuer))
    return issuer


@transaction.atomic
def delete_trusted_issuer(issuer_id: UUID, *, actor: Actor, precondition: Precondition | None) -> None:
    """Trust an issuer no longer. Tokens that were issued for its tokens end by themselves within an hour.

    Raises UnknownTrustedIssuer, VersionMismatch.
    """
    issuer = _lock(issuer_id, precondition)
    TrustedIssuer.objects.filter(id=issuer_id).delete()
    _record(ISSUER_DELETED, issuer, actor, before=issuer_state(issuer), after=None)


def issuer_state(issuer: TrustedIssuer) -> dict[str, Any]:
    """Return the issuer as the audit log shows it."""
    names = ("issuer", "jwks_uri", "jwks", "audiences", "rules", "max_ttl")
    return {name: getattr(issuer, name) for name in names}


def _columns(spec: IssuerSpec) -> dict[str, Any]:
    return {
        "issuer": spec.issuer,
        "jwks_uri": spec.jwks_uri,
        "jwks": None if spec.jwks is None else dict(spec.jwks),
        "audiences": list(spec.audiences),
        "rules": [show_rule(rule) for rule in spec.rules],
        "max_ttl": spec.max_ttl,
    }


def _lock(issuer_id: UUID, precondition: Precondition | None) -> TrustedIssuer:
    issuer = TrustedIssuer.objects.select_for_update().filter(id=issuer_id).first()
    if issuer is None:
        raise UnknownTrustedIssuer("The trusted issuer does not exist.")
    check(precondition, issuer.version)
    return issuer


def _save(issuer: TrustedIssuer) -> None:
    try:
        with transaction.atomic():
            issuer.save()
    except IntegrityError as error:
        raise NameTaken(f"{issuer.issuer} is already a trusted issuer.") from error


def _check_spec(spec: IssuerSpec) -> None:
    errors = [*_address_errors(spec), *_key_errors(spec), *_principal_errors(spec)]
    for index, rule in enumerate(spec.rules):
        errors += rule_errors(rule, spec.issuer, f"/rules/{index}")
    if errors:
        raise InvalidRequest(errors[0].message, errors=errors)


def _address_errors(spec: IssuerSpec) -> Iterator[FieldError]:
    for pointer, url in (("/issuer", spec.issuer), ("/jwks_uri", spec.jwks_uri)):
        if url and not _is_plain_url(url):
            message = "Use an https:// URL without user name, query and fragment."
            yield FieldError(pointer, "malformed", message)


def _is_plain_url(url: str) -> bool:
    try:
        parts = urlsplit(url)
        has_port = parts.port != 0
    except ValueError:
        return False
    is_bare = not (parts.query or parts.fragment or parts.username or parts.password)
    return is_acceptable(url) and is_bare and has_port and bool(parts.hostname)


def _key_errors(spec: IssuerSpec) -> Iterator[FieldError]:
    if spec.jwks is None:
        return
    try:
        is_usable = bool(read_keys(spec.jwks))
    except ValueError:
        is_usable = False
    if not is_usable:
        message = "The key set has no key that can verify signatures: RSA of 2048 bits, P-256 or Ed25519."
        yield FieldError("/jwks", "malformed", message)


def _principal_errors(spec: IssuerSpec) -> Iterator[FieldError]:
    """Only services: a workload must not act as a person, nor as an agent, whose credential is its own."""
    names = {rule.principal for rule in spec.rules if rule.principal}
    services = Principal.objects.filter(name__in=names, kind=PrincipalKind.SERVICE)
    known_names = set(services.values_list("name", flat=True))
    for index, rule in enumerate(spec.rules):
        if rule.principal and rule.principal not in known_names:
            message = f"{rule.principal[:80]!r} is not the name of a service. Create it first."
            yield FieldError(f"/rules/{index}/principal", "unknown_principal", message)


def _record(event_type: EventType, issuer: TrustedIssuer, actor: Actor, **change: Any) -> None:
    data = {"issuer": issuer.issuer}
    audit.record(event_type, "trusted_issuer", str(issuer.id), actor=actor, data=data, **change)
