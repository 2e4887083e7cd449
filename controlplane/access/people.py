"""The people behind a request: who made it, and who made the token or service that made it.

A token that somebody created for another principal, and a service that somebody created, act for their
creator as well: the creator has, or had, the secret.
"""

from __future__ import annotations

from collections.abc import Iterable
from uuid import UUID

from controlplane.access import event_types
from controlplane.access.models import AuditRecord, Principal, PrincipalKind, Token
from controlplane.access.oauth.models import ClientSecret, OAuthClient

# A service that was created by a service, and so on.
_MOST_STEPS = 20


def people_behind(principal_id: UUID | None, token_id: UUID | None = None) -> frozenset[UUID]:
    """Return the ids of the caller, of the creators of the token in use, and of those behind services.

    Creators of tokens and services are read from the audit log, as long as it has their rows.
    """
    people: set[UUID] = set()
    unseen = {*([principal_id] if principal_id else []), *_creators_of_token(token_id)}
    for _ in range(_MOST_STEPS):
        if not (unseen := unseen - people):
            break
        people |= unseen
        unseen = _creators_of_services(unseen)
    return frozenset(people)


def _creators_of_token(token_id: UUID | None) -> set[UUID]:
    """Return the principals and creators of the token, and of the tokens that it was created with."""
    creators: set[UUID] = set()
    while token := Token.objects.filter(id=token_id).first() if token_id else None:
        rows = _records(event_types.TOKEN_CREATED.name, "token", [str(token.id)])
        creators |= {token.principal_id, *_actors(rows), *_creators_of_client(token)}
        token_id = token.parent_id
    return creators


def _creators_of_client(token: Token) -> set[UUID]:
    """Return who created and changed the OAuth client of a service, and its secrets."""
    clients = OAuthClient.objects.filter(access_tokens__token=token, principal_id=token.principal_id)
    secrets = ClientSecret.objects.filter(client__in=clients).values_list("id", flat=True)
    of_clients = _records("", "oauth_client", clients.values_list("client_id", flat=True))
    return _actors([*of_clients, *_records("", "client_secret", map(str, secrets))])


def _creators_of_services(principal_ids: Iterable[UUID]) -> set[UUID]:
    services = Principal.objects.filter(id__in=list(principal_ids)).exclude(kind=PrincipalKind.PERSON)
    names = services.values_list("name", flat=True)
    return _actors(_records(event_types.PRINCIPAL_CREATED.name, "principal", names))


def _records(action: str, object_type: str, object_ids: Iterable[str]) -> list[AuditRecord]:
    """Return the audit records of the objects, of one action or of all."""
    rows = AuditRecord.objects.filter(object_type=object_type, object_id__in=list(object_ids))
    return list(rows.filter(action=action) if action else rows)


def _actors(rows: Iterable[AuditRecord]) -> set[UUID]:
    return {row.actor_id for row in rows if row.actor_id is not None}
