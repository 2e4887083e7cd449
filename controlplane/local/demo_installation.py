"""Whether an installation of `make up` plays the demo, and where the demo receives webhooks."""

from __future__ import annotations

from pathlib import Path

from controlplane.local.demo_record import DemoRecord, read_record
from controlplane.local.programs import free_port, is_listening

# From the port of the console: near the other ports, so that it is free again after a restart.
_OFFSET = 44


def active_demo(folder: Path) -> DemoRecord | None:
    """Return the demo of a data folder; None if it has none, or it was removed."""
    record = read_record(folder)
    return None if record is None or record.removed else record


def receiver_port(console_port: int) -> int:
    """Return a port for the demo's receiver of webhooks."""
    preferred = console_port + _OFFSET
    return free_port() if is_listening(preferred) else preferred


def receiver_environment(demo: DemoRecord | None) -> dict[str, str]:
    """Allow requests to the demo's own receiver, and to nothing else on this machine."""
    port = demo.receiver_port if demo else 0
    return {"DEMO_RECEIVER": f"127.0.0.1:{port}"} if port else {}
