"""OAuth clients: built-in ones, those from settings, and those that administrators create."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, replace
from typing import Any

from django.db import IntegrityError, transaction

from controlplane.access import audit
from controlplane.access.models import Principal, PrincipalKind
from controlplane.access.oauth import event_types
from controlplane.access.oauth.client_specs import BUILT_IN, ClientSpec, check_spec, invalid
from controlplane.access.oauth.issuance import revoke_all_of_client
from controlplane.access.oauth.models import ClientSecret, ClientSource, OAuthClient
from controlplane.access.team_models import Team
from controlplane.errors import (
    NameTaken,
    SourceIsReadOnly,
    UnknownOAuthClient,
    UnknownPrincipal,
    UnknownTeam,
)
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor, system
from controlplane.preconditions import Precondition, check


def ensure_built_in_clients() -> None:
    """Create or restore the clients of every installation, without audit: they belong to the release."""
    specs = {spec.client_id: spec for spec in BUILT_IN}
    rows = {row.client_id: row for row in OAuthClient.objects.filter(client_id__in=specs)}
    for client_id, spec in specs.items():
        columns = _columns(spec) | {"source": ClientSource.SETTING}
        row = rows.get(client_id)
        if row is None:
            OAuthClient.objects.bulk_create(
                [OAuthClient(client_id=client_id, **columns)], ignore_conflicts=True
            )
        elif any(getattr(row, name) != value for name, value in columns.items()):
            OAuthClient.objects.filter(id=row.id).update(**columns, version=row.version + 1)


@transaction.atomic
def ensure_client(spec: ClientSpec) -> OAuthClient:
    """Create or update a client from the settings, with its service principal and secret."""
    check_spec(spec)
    principal = _service(spec) if spec.principal else None
    columns = _columns(spec) | {"principal": principal, "team": _team(spec), "source": ClientSource.SETTING}
    row = OAuthClient.objects.select_for_update(of=("self",)).filter(client_id=spec.client_id).first()
    if row is None:
        row = OAuthClient.objects.create(client_id=spec.client_id, **columns)
        _record(event_types.CLIENT_CREATED, row, None, system("settings"))
    elif any(getattr(row, name) != value for name, value in columns.items()):
        before = client_state(row)
        OAuthClient.objects.filter(id=row.id).update(**columns, version=row.version + 1)
        row.refresh_from_db()
        _record(event_types.CLIENT_CHANGED, row, before, system("settings"))
    if spec.bcrypt_hash:
        _ensure_secret(row, spec.bcrypt_hash)
    return row


def get_client(client_id: str) -> OAuthClient:
    """Return the client, disabled or not. Raises UnknownOAuthClient."""
    row = OAuthClient.objects.select_related("principal", "team").filter(client_id=client_id).first()
    if row is None:
        raise UnknownOAuthClient(f"The OAuth client {client_id[:80]!r} does not exist.")
    return row


@transaction.atomic
def create_client(spec: ClientSpec, *, actor: Actor) -> OAuthClient:
    """Create a client. Raises InvalidRequest, NameTaken, UnknownPrincipal."""
    check_spec(spec)
    try:
        with transaction.atomic():
            row = OAuthClient.objects.create(
                client_id=spec.client_id,
                principal=_principal(spec),
                team=_team(spec),
                source=ClientSource.API,
                **_columns(spec),
            )
    except IntegrityError as error:
        raise NameTaken(f"The OAuth client {spec.client_id!r} already exists. Choose another id.") from error
    _record(event_types.CLIENT_CREATED, row, None, actor)
    return row


@transaction.atomic
def change_client(
    client_id: str, changes: Mapping[str, Any], *, actor: Actor, precondition: Precondition | None
) -> OAuthClient:
    """Change fields of a client. A disabled client loses its tokens. Raises as `create_client` does."""
    row = _lock(client_id, precondition)
    spec = replace(_spec_of(row), **changes)
    if spec.is_public != row.is_public:
        raise invalid("/type", "The type of a client cannot be changed. Create another client.")
    check_spec(spec)
    before = client_state(row)
    columns = _columns(spec) | {"principal": _principal(spec), "team": _team(spec)}
    if all(getattr(row, name) == value for name, value in columns.items()):
        return row
    OAuthClient.objects.filter(id=row.id).update(**columns, version=row.version + 1)
    row = get_client(client_id)
    if not row.is_active:
        revoke_all_of_client(row, actor=actor)
    _record(event_types.CLIENT_CHANGED, row, before, actor)
    return row


@transaction.atomic
def delete_client(client_id: str, *, actor: Actor, precondition: Precondition | None) -> None:
    """Delete a client and revoke its tokens. Raises UnknownOAuthClient, SourceIsReadOnly."""
    row = _lock(client_id, precondition)
    revoke_all_of_client(row, actor=actor)
    before = client_state(row)
    _record(event_types.CLIENT_DELETED, row, before, actor, is_deleted=True)
    OAuthClient.objects.filter(id=row.id).delete()


def client_state(row: OAuthClient) -> dict[str, Any]:
    """Return the client for audit records."""
    state = asdict(_spec_of(row))
    del state["bcrypt_hash"]
    return {name: list(value) if isinstance(value, tuple) else value for name, value in state.items()}


def _lock(client_id: str, precondition: Precondition | None) -> OAuthClient:
    rows = OAuthClient.objects.select_for_update(of=("self",)).select_related("principal", "team")
    row = rows.filter(client_id=client_id).first()
    if row is None:
        raise UnknownOAuthClient(f"The OAuth client {client_id[:80]!r} does not exist.")
    if row.source == ClientSource.SETTING:
        raise SourceIsReadOnly(f"The client {client_id} comes from the settings. Change it there.")
    check(precondition, row.version)
    return row


def _spec_of(row: OAuthClient) -> ClientSpec:
    return ClientSpec(
        client_id=row.client_id,
        name=row.name,
        is_public=row.is_public,
        redirect_uris=tuple(row.redirect_uris.split()),
        grants=tuple(row.allowed_grants),
        scopes=tuple(row.allowed_scopes),
        default_scopes=tuple(row.default_scopes),
        audiences=tuple(row.audiences),
        principal=row.principal.name if row.principal else "",
        team=row.team.slug if row.team else "",
        may_introspect=row.may_introspect,
        is_trusted=row.skip_authorization,
        is_active=row.is_active,
    )


def _columns(spec: ClientSpec) -> dict[str, Any]:
    return {
        "name": spec.name or spec.client_id,
        "client_type": OAuthClient.CLIENT_PUBLIC if spec.is_public else OAuthClient.CLIENT_CONFIDENTIAL,
        "redirect_uris": " ".join(spec.redirect_uris),
        "allowed_grants": list(spec.grants),
        "allowed_scopes": list(spec.scopes),
        "default_scopes": list(spec.default_scopes),
        "audiences": list(spec.audiences),
        "may_introspect": spec.may_introspect,
        "skip_authorization": spec.is_trusted,
        "is_active": spec.is_active,
    }


def _principal(spec: ClientSpec) -> Principal | None:
    if not spec.principal:
        return None
    principal = Principal.objects.filter(name=spec.principal).first()
    if principal is None:
        raise UnknownPrincipal(f"The principal {spec.principal[:80]!r} does not exist.")
    if principal.kind != PrincipalKind.SERVICE:
        raise invalid("/principal", "The principal of a client must be of the kind service.")
    return principal


def _team(spec: ClientSpec) -> Team | None:
    if not spec.team:
        return None
    team = Team.objects.filter(slug=spec.team).first()
    if team is None:
        raise UnknownTeam(f"The team {spec.team[:80]!r} does not exist.")
    return team


def _service(spec: ClientSpec) -> Principal:
    """Return the service of a client from the settings; without roles if it is new."""
    from controlplane.access.principals import create_principal

    principal = Principal.objects.filter(name=spec.principal).first()
    return principal or create_principal(spec.principal, kind=PrincipalKind.SERVICE, actor=system("settings"))


def _ensure_secret(row: OAuthClient, bcrypt_hash: str) -> None:
    """Store the hash unless it is known. A hash that was replaced by a digest stays so until it changes."""
    marker = f"bcrypt:{bcrypt_hash[-9:]}"
    if not ClientSecret.objects.filter(client=row, hint=marker, revoked_at=None).exists():
        ClientSecret.objects.filter(client=row, hint__startswith="bcrypt:").delete()
        ClientSecret.objects.create(client=row, hint=marker, slow_hash=bcrypt_hash)


def _record(
    event_type: EventType,
    row: OAuthClient,
    before: dict[str, Any] | None,
    actor: Actor,
    *,
    is_deleted: bool = False,
) -> None:
    after = None if is_deleted else client_state(row)
    data = {"client": row.client_id}
    audit.record(
        event_type, "oauth_client", row.client_id, actor=actor, before=before, after=after, data=data
    )
