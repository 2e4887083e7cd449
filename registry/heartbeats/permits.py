"""Permits: the lease notes whose heartbeats may be taken without asking again who sends them.

Triggers take a permit away in the transaction that revokes the token, switches its principal off or takes a
role (migrations/registry). The rows are locked here while it is given, so that neither misses the other.
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
    """Note the token on the lease if it still may beat for the agent.

    After the heartbeat's transaction and not in it: who revokes takes these locks in this order too.
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
    """Agents beat for themselves; who may change agents, for all."""
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
