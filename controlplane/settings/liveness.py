"""Liveness of agents: how often they beat and how long we wait. docs/adr/0004 has the reasons."""

from controlplane.settings import environment as env

__all__ = [
    "CONGESTION_LAG",
    "HEARTBEAT_INTERVAL_SECONDS",
    "HEARTBEAT_JITTER",
    "LEASE_SECONDS",
    "SWEEP_INTERVAL_SECONDS",
]

HEARTBEAT_INTERVAL_SECONDS = env.integer(
    "HEARTBEAT_INTERVAL_SECONDS",
    default=30,
    minimum=1,
    meaning="Seconds between an agent's heartbeats. Told to the agent in every answer.",
)
# Share of the interval by which each answer varies, so that a restarted fleet does not beat in step.
HEARTBEAT_JITTER = 0.2
LEASE_SECONDS = env.integer(
    "LEASE_SECONDS",
    default=90,
    minimum=1,
    meaning="Seconds without a heartbeat after which an agent is unavailable. At least 3 intervals.",
)
SWEEP_INTERVAL_SECONDS = env.integer(
    "SWEEP_INTERVAL_SECONDS",
    default=5,
    minimum=1,
    meaning="Seconds between two looks for silent agents.",
)
CONGESTION_LAG = env.integer(
    "CONGESTION_LAG",
    default=100,
    minimum=1,
    meaning="Unread messages from which an agent counts as congested.",
)
