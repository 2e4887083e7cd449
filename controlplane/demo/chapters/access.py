"""Teams with members, a role of its own, and a join token for agents at the edge."""

from __future__ import annotations

from datetime import timedelta

from controlplane.demo.cast import COMMERCE, PLATFORM, RISK, Cast
from controlplane.demo.seed import DEMO_ACTOR
from registry.joining.join_tokens import JoinTokenSpec, create_join_token
from registry.joining.models import JoinToken
from registry.joining.terms import JoinTerms

_TEAMS = {"commerce": ("Commerce", COMMERCE), "risk": ("Risk and fraud", RISK)}


def tell(cast: Cast) -> None:
    for slug, (title, member) in _TEAMS.items():
        cast.act(PLATFORM, "POST", "teams", {"slug": slug, "title": title})
        cast.act(PLATFORM, "PUT", f"teams/{slug}/members/{member}")
    operator = {
        "name": "fleet-operator",
        "title": "Drains and retires agents",
        "actions": ["agent.read", "agent.write"],
    }
    cast.act(PLATFORM, "POST", "roles", operator)
    _let_kiosks_join(cast)


def _let_kiosks_join(cast: Cast) -> None:
    """Create a join token directly: with the token of a request that is revoked, it would end too."""
    if JoinToken.objects.exists():
        return
    spec = JoinTokenSpec(
        JoinTerms("kiosk-*", environment="edge"),
        uses=20,
        expires_at=cast.now + timedelta(days=30),
        needs_approval=True,
    )
    create_join_token("shop kiosks", spec, actor=DEMO_ACTOR)
