"""Issue and revoke logins of agents at NATS. Connections that are no longer allowed end soon after."""

from __future__ import annotations

from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction

from controlplane.access import audit, tokens
from controlplane.errors import Conflict
from controlplane.events.types import EventType
from controlplane.identity.actors import Actor
from controlplane.ids import uuid7
from registry.agents.models import Agent
from registry.agents.states import State
from registry.agents.transitions import agent_facts
from registry.dispatch.channels import use_nats
from registry.dispatch.nats_logins.decide import Consumers, consumers_of
from registry.dispatch.nats_logins.event_types import NATS_LOGIN_ISSUED, NATS_LOGIN_REVOKED
from registry.dispatch.nats_logins.models import NatsLogin


def agent_url() -> str:
    """Return the address of NATS for agents."""
    if settings.NATS_AGENT_URL:
        return str(settings.NATS_AGENT_URL)
    parts = urlsplit(settings.NATS_URL)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}"


def usable_consumers(agent: Agent) -> Consumers:
    """Return the agent's consumers. Raises Conflict if it cannot have a login."""
    if not settings.NATS_ISSUER_SEED:
        raise Conflict(
            "This installation has no logins at NATS, because NATS_ISSUER_SEED is not set. Let the agent"
            f" fetch its requests by HTTPS, from /api/v1/agents/{agent.id}/requests."
        )
    if agent.state == State.RETIRED:
        raise Conflict("The agent is retired. Let it register again before it gets a login at NATS.")
    consumers = consumers_of(agent.topic_name)
    if consumers is None:
        raise Conflict(
            f"The topic {agent.topic_name!r} cannot be used with a login at NATS: it must be dcm.agent. and"
            " letters, digits, - and _, and must not end in -cancel. Let the agent register with another one."
        )
    return consumers


@transaction.atomic
def issue_login(agent: Agent, *, actor: Actor) -> str:
    """Replace the agent's password, and return the new one. Its requests come by NATS from now on.

    The caller has locked the agent. Raises Conflict.
    """
    usable_consumers(agent)
    password = tokens.new_token(tokens.Prefix.NATS)
    former = NatsLogin.objects.filter(agent=agent).first()
    NatsLogin.objects.update_or_create(
        agent=agent,
        defaults={
            "serial": uuid7(),
            "digest": tokens.digest(password),
            "hint": tokens.hint(password),
            "principal_id": agent.registered_by,
            "prepared_at": None,
        },
    )
    use_nats(agent)
    _record(NATS_LOGIN_ISSUED, agent, former, tokens.hint(password), actor)
    return password


@transaction.atomic
def revoke_login(agent: Agent, *, actor: Actor) -> bool:
    """Delete the agent's login; return whether it had one. The caller has locked the agent."""
    former = NatsLogin.objects.filter(agent=agent).first()
    if former is None:
        return False
    former.delete()
    _record(NATS_LOGIN_REVOKED, agent, former, None, actor)
    return True


def _record(kind: EventType, agent: Agent, former: NatsLogin | None, hint: str | None, actor: Actor) -> None:
    audit.record(
        kind,
        "agent",
        str(agent.id),
        actor=actor,
        before={"nats_login": former.hint} if former else None,
        after={"nats_login": hint} if hint else None,
        data=agent_facts(agent),
        team_id=agent.team_id,
    )
