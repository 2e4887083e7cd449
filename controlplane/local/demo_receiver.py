"""Where the demo of `make up` receives its webhooks."""

from __future__ import annotations

from controlplane.local.demo_record import DemoRecord
from controlplane.local.programs import free_port, is_listening

# From the port of the console: near the other ports, so that it is free again after a restart.
_OFFSET = 44


def receiver_port(console_port: int) -> int:
    """Return a port for the demo's receiver of webhooks."""
    preferred = console_port + _OFFSET
    return free_port() if is_listening(preferred) else preferred


def receiver_environment(demo: DemoRecord | None) -> dict[str, str]:
    """Allow requests to the demo's own receiver, and to nothing else on this machine."""
    port = demo.receiver_port if demo else 0
    return {"DEMO_RECEIVER": f"127.0.0.1:{port}"} if port else {}
