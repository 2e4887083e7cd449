"""Permits: the lease stores the token whose heartbeats need no further authentication.

Triggers clear a permit in the transaction that revokes the token, disables its principal or removes a role
(migrations/registry). Granting a permit locks those rows, so that neither misses the other.
"""

from __future__ import annotations

from uuid import UUID

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access.models import Principal, RoleBinding, Token
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.models import Agent, Lease


@transaction.atomic
def give_permit(agent: Agent, token: Token) -> None:
    """Store the token on the lease if it may still send the agent's heartbeats.

    After the heartbeat's transaction, not within it: a revocation takes these locks in the same order.
    """
    valid_token = (
        Token.objects.filter(Q(expires_at=None) | Q(expires_at__gt=Now()), id=token.id, revoked_at=None)
        .select_for_update(no_key=True)
        .first()
    )
    if valid_token is None or not _may_beat(valid_token.principal_id, agent):
        return
    Lease.objects.filter(agent=agent).update(
        token_digest=valid_token.digest, token_expires_at=valid_token.expires_at
    )


def may_beat_for(caller: Caller, agent: Agent) -> bool:
    """Return whether the caller may send the agent's heartbeats: it registered it, or may write agents."""
    return agent.registered_by == caller.principal_id or caller.verdict(Action.AGENT_WRITE).allowed


def _may_beat(principal_id: UUID, agent: Agent) -> bool:
    principal = (
        Principal.objects.select_for_update(no_key=True).filter(id=principal_id, is_active=True).first()
    )
    if principal is None:
        return False
    bindings = RoleBinding.objects.select_for_update(no_key=True).filter(principal_id=principal_id)
    grants = tuple(binding.grant for binding in bindings)
    caller = Caller(principal.id, principal.name, principal.kind, grants)
    return caller.verdict(Action.AGENT_HEARTBEAT).allowed and may_beat_for(caller, agent)
