"""Permits: the lease stores the token whose heartbeats need no further authentication.

Triggers clear a permit in the transaction that revokes the token, disables its principal, removes or changes
a role or membership, or moves the agent to another team (migrations/registry). Granting a permit locks those
rows, so that neither misses the other.
"""

from __future__ import annotations

from datetime import datetime

from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Now

from controlplane.access.authentication import build_caller, lock_bindings
from controlplane.access.models import Principal, Token
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agents.models import Agent, Lease
from registry.agents.rights import agent_rights


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
    caller = None if valid_token is None else _lock_caller(valid_token)
    if valid_token is None or caller is None:
        return
    # Its owner cannot change while its lease is locked.
    list(Lease.objects.select_for_update(of=("self",)).filter(agent_id=agent.id).values_list("agent_id"))
    current_agent = Agent.objects.filter(id=agent.id).first()
    if current_agent is None or not agent_rights(caller, Action.AGENT_HEARTBEAT).allow(current_agent):
        return
    Lease.objects.filter(agent_id=agent.id).update(
        token_digest=valid_token.digest, token_expires_at=_end(valid_token, caller)
    )


def _end(token: Token, caller: Caller) -> datetime | None:
    """Return when the token or the first of its roles expires."""
    ends = (token.expires_at, caller.grants_end_at)
    return min((end for end in ends if end is not None), default=None)


def _lock_caller(token: Token) -> Caller | None:
    """Lock the principal of the token with all that gives it roles; None if it is disabled."""
    principals = Principal.objects.select_for_update(no_key=True)
    principal = principals.filter(id=token.principal_id, is_active=True).first()
    if principal is None:
        return None
    return build_caller(principal, lock_bindings(principal.id), token.scopes)
