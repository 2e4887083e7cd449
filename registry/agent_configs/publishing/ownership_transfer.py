"""Grants, releases and transfers of names between teams."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.db import IntegrityError, transaction

from controlplane.access import audit
from controlplane.access.organisations import of_all_organisations
from controlplane.access.teams.teams import check_team_name
from controlplane.database.clock import database_now
from controlplane.database.locks import lock_publishing
from controlplane.errors import NameTaken, UnknownGrant
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from registry.agent_configs.claims.grants import Grant, Transfer, apply_transfer
from registry.agent_configs.documents.published import (
    Claim,
    ClaimKind,
    Naming,
    agent_claims,
    endpoint_claims,
    task_claims,
)
from registry.agent_configs.event_types import CLAIM_RELEASED, CLAIM_TRANSFERRED, GRANT_GIVEN, GRANT_WITHDRAWN
from registry.agent_configs.models import AgentConfigGrant, AgentConfigRelease
from registry.agent_configs.owners import owner_of
from registry.agent_configs.publishing.recompute import recompute_all
from registry.agent_configs.storage import policies
from registry.agent_configs.storage.load_documents import load_documents
from registry.agent_configs.storage.load_inputs import load_ownership


@transaction.atomic
def create_grant(grant: Grant, *, actor: Actor) -> AgentConfigGrant:
    """Grant a team the names that match a pattern. Raises NameTaken if the grant exists."""
    check_team_name(grant.team, "/team")
    lock_publishing()
    row = AgentConfigGrant(
        team=grant.team, kind=grant.kind.value, pattern=grant.pattern, created_by=actor.name
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError as error:
        raise NameTaken(f"{grant.team} already has this grant.") from error
    row.refresh_from_db()
    _record_grant(row, actor, created=True)
    recompute_all(actor)
    return row


@transaction.atomic
def delete_grant(grant_id: UUID, *, actor: Actor) -> None:
    """Delete a grant. Raises UnknownGrant."""
    lock_publishing()
    row = AgentConfigGrant.objects.filter(id=grant_id).first()
    if row is None:
        raise UnknownGrant(f"Grant {grant_id} does not exist.")
    _record_grant(row, actor, created=False)
    row.delete()
    recompute_all(actor)


@transaction.atomic
def release_claim(team: str, kind: ClaimKind, name: str, *, actor: Actor) -> None:
    """Release a name, which the team serves until another team claims it. A repeated call changes nothing."""
    lock_publishing()
    _, created = AgentConfigRelease.objects.get_or_create(team=team, kind=kind.value, name=name)
    if created:
        entry = {"team": team, "kind": kind.value, "name": name}
        _record(CLAIM_RELEASED, f"{kind.value}/{name}", entry, actor, team_id=owner_of(team))
        recompute_all(actor)


@transaction.atomic
def transfer_claim(order: Transfer, *, actor: Actor) -> None:
    """Move a name to another team in one bundle. Raises InvalidRequest if the team does not claim it."""
    lock_publishing()
    before = load_ownership()
    after = apply_transfer(before, order, load_claims())
    for gone in set(before.grants) - set(after.grants):
        AgentConfigGrant.objects.filter(team=gone.team, kind=gone.kind.value, pattern=gone.pattern).delete()
    for new in set(after.grants) - set(before.grants):
        AgentConfigGrant.objects.create(
            team=new.team, kind=new.kind.value, pattern=new.pattern, created_by=actor.name
        )
    for taken_back in before.releases - after.releases:
        AgentConfigRelease.objects.filter(
            team=taken_back.team, kind=taken_back.kind.value, name=taken_back.name
        ).delete()
    entry = {
        "kind": order.kind.value,
        "name": order.name,
        "from_team": order.from_team,
        "to_team": order.to_team,
    }
    # It names two teams, so it belongs to neither.
    _record(CLAIM_TRANSFERRED, f"{order.kind.value}/{order.name}", entry, actor, team_id=None)
    recompute_all(actor)


@of_all_organisations()
def load_claims() -> list[Claim]:
    """Return the claims of all documents."""
    naming: Naming = policies.claim_policy().naming
    documents = [document.published for document in load_documents(now=database_now())]
    claim_functions = (agent_claims, task_claims, endpoint_claims)
    return [
        claim for document in documents for claims in claim_functions for claim in claims(document, naming)
    ]


def _record_grant(row: AgentConfigGrant, actor: Actor, *, created: bool) -> None:
    entry = {"team": row.team, "kind": row.kind, "pattern": row.pattern}
    audit.record(
        GRANT_GIVEN if created else GRANT_WITHDRAWN,
        "agent_config_grant",
        str(row.id),
        actor=actor,
        before=None if created else entry,
        after=entry if created else None,
        data=entry,
        team_id=owner_of(row.team),
    )


def _record(
    event_type: EventType, object_id: str, entry: dict[str, Any], actor: Actor, *, team_id: UUID | None
) -> None:
    audit.record(
        event_type,
        "agent_config_claim",
        object_id,
        actor=actor,
        before=None,
        after=entry,
        data=entry,
        team_id=team_id,
    )
