"""Outgoing requests to addresses that users supply."""

import ipaddress

from controlplane.settings import environment as env

__all__ = ["DEMO_RECEIVER", "OUTGOING_ALLOWED_NETWORKS"]

# Only `make up` has a demo: see settings/dev.py. No variable can set it elsewhere.
DEMO_RECEIVER = ""


def _networks(raw: str) -> list[str]:
    parts = [part.strip() for part in raw.split(",") if part.strip()]
    return [str(ipaddress.ip_network(part, strict=False)) for part in parts]


OUTGOING_ALLOWED_NETWORKS = env.parsed(
    "OUTGOING_ALLOWED_NETWORKS",
    _networks,
    default="",
    meaning="Private networks that URLs supplied by users may point to, comma-separated, such as"
    " 10.1.0.0/16. Public addresses are always allowed.",
)
