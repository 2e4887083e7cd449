"""Impact of revoking an agent's own tokens: which, who holds them, and what stops working."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from console.templatetags.times import ago
from controlplane.access.models import Principal, Token
from registry.agents.models import Agent
from registry.agents.states import LIVE
from registry.dispatch.agent_work import unsettled_among
from registry.dispatch.nats_logins.models import NatsLogin
from registry.joining.credentials import renews_by_issuer, valid_tokens


@dataclass(frozen=True, slots=True)
class TokenUse:
    """A token as it is shown: its first characters, and when it was last used, if ever."""

    hint: str
    last_used_at: datetime | None


@dataclass(frozen=True, slots=True)
class TokenImpact:
    """tokens: that stop working. is_live: its lease is valid. resources: those assigned to it."""

    state: str
    is_live: bool
    renewed_at: datetime
    lease_ends_at: datetime
    now: datetime
    tokens: tuple[TokenUse, ...]
    resources: int
    has_nats_login: bool
    renews_by_issuer: bool


def load_token_impact(agent: Agent, principal: Principal) -> TokenImpact:
    """Return the impact on an agent as `shown`, with its own principal."""
    return TokenImpact(
        agent.state,
        agent.state in LIVE,
        agent.lease.renewed_at,
        agent.lease.expires_at,
        agent.now,  # type: ignore[attr-defined]  # annotated
        tuple(_use_of(token) for token in valid_tokens(principal)),
        unsettled_among([agent.id]),
        NatsLogin.objects.filter(agent=agent).exists(),
        renews_by_issuer(principal),
    )


def _use_of(token: Token) -> TokenUse:
    return TokenUse(token.hint, token.last_used_at)


def describe_tokens(impact: TokenImpact) -> tuple[str, ...]:
    """Describe which tokens stop working, and whether a running agent holds one of them."""
    if not impact.tokens:
        return ("The agent has no valid token.",)
    uses = (_describe_use(use, impact.now) for use in impact.tokens)
    heartbeat = f"last heartbeat {ago(impact.renewed_at, impact.now)}"
    holder = (
        f"The agent is {impact.state}, {heartbeat}: a running process holds a token."
        if impact.is_live
        else f"The agent is {impact.state}, {heartbeat}."
    )
    return (f"Tokens that stop working at once: {'; '.join(uses)}.", holder)


def describe_loss(impact: TokenImpact) -> tuple[str, ...]:
    """Describe what stops working, and what stays."""
    lines = []
    if impact.is_live:
        lines.append(
            "Without a valid token its heartbeats are refused: it becomes unavailable when its lease ends,"
            f" at {impact.lease_ends_at:%H:%M:%S} UTC or soon after, and gets no more work."
        )
    if impact.resources:
        lines.append(
            f"Its resources stay: {impact.resources}. Their states and results do not arrive meanwhile."
        )
    if impact.has_nats_login:
        lines.append("Its login at NATS stays: it still receives requests there. It is revoked separately.")
    return tuple(lines)


def _describe_use(use: TokenUse, now: datetime) -> str:
    last = f"last used {ago(use.last_used_at, now)}" if use.last_used_at else "never used"
    return f"{use.hint}…, {last}"
