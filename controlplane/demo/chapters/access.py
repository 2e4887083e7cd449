"""Teams with members, a role of its own, and a join token for agents at the edge."""

from __future__ import annotations

from controlplane.demo.cast import COMMERCE, PLATFORM, RISK, Cast

_TEAMS = {"commerce": ("Commerce", COMMERCE), "risk": ("Risk and fraud", RISK)}
_JOIN_TOKEN = {
    "name": "shop kiosks",
    "name_pattern": "kiosk-*",
    "environment": "edge",
    "uses": 20,
    "needs_approval": True,
    "expires_in_seconds": 30 * 24 * 3600,
}


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
    if not cast.act(PLATFORM, "GET", "join-tokens")["items"]:
        cast.act(PLATFORM, "POST", "join-tokens", _JOIN_TOKEN)
