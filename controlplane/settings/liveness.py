"""Liveness of agents: heartbeat intervals, leases and retirement. For the reasons, see docs/adr/0004."""

from controlplane.settings import environment as env

__all__ = [
    "AGENT_REMOVE_AFTER_DAYS",
    "AGENT_RETIRE_AFTER_DAYS",
    "CONGESTION_LAG",
    "DCM_AGENTS",
    "FLAP_WINDOW_SECONDS",
    "FLEET_GUARD_LEAST",
    "FLEET_GUARD_MAX_SECONDS",
    "FLEET_GUARD_PERCENT",
    "HEARTBEATS_PER_SECOND",
    "HEARTBEAT_CONNECTIONS",
    "HEARTBEAT_INTERVAL_SECONDS",
    "HEARTBEAT_JITTER",
    "JOINS_AT_ONCE",
    "LEASE_SECONDS",
    "PROVIDER_FAILURES",
    "PROVIDER_RECOVERIES",
    "SWEEP_INTERVAL_SECONDS",
]

HEARTBEAT_INTERVAL_SECONDS = env.integer(
    "HEARTBEAT_INTERVAL_SECONDS",
    default=30,
    minimum=1,
    meaning="Seconds between an agent's heartbeats. Every response tells the agent its interval.",
)
# Share of the interval by which each response varies, so that a restarted fleet does not send its heartbeats
# in step.
HEARTBEAT_JITTER = 0.2
LEASE_SECONDS = env.integer(
    "LEASE_SECONDS",
    default=90,
    minimum=1,
    meaning="Seconds without a heartbeat after which an agent is unavailable; at least 3 intervals."
    " Operators can set a different lease for an agent or an environment.",
)
SWEEP_INTERVAL_SECONDS = env.integer(
    "SWEEP_INTERVAL_SECONDS",
    default=5,
    minimum=1,
    meaning="Seconds between two checks for silent agents.",
)
CONGESTION_LAG = env.integer(
    "CONGESTION_LAG",
    default=100,
    minimum=1,
    meaning="Number of unread messages at which an agent counts as congested.",
)
HEARTBEATS_PER_SECOND = env.integer(
    "HEARTBEATS_PER_SECOND",
    default=4000,
    minimum=1,
    meaning="Maximum heartbeats per second from the whole fleet. Larger fleets get a longer interval and"
    " lease.",
)
HEARTBEAT_CONNECTIONS = env.integer(
    "HEARTBEAT_CONNECTIONS",
    default=2,
    meaning="Connections of each web worker that write heartbeats in batches. 0: Django handles each"
    " heartbeat on its own.",
)
JOINS_AT_ONCE = env.integer(
    "JOINS_AT_ONCE",
    default=256,
    meaning="Maximum number of agents that each web worker registers in one transaction. 0: Django handles"
    " each join on its own.",
)
FLEET_GUARD_PERCENT = env.integer(
    "FLEET_GUARD_PERCENT",
    default=20,
    minimum=1,
    meaning="Percentage of an environment's agents, or of all agents, that must become silent within a"
    " minute to engage the fleet guard. Above 100: only if no agent is heard at all.",
)
FLEET_GUARD_LEAST = env.integer(
    "FLEET_GUARD_LEAST",
    default=5,
    minimum=1,
    meaning="Minimum number of agents that must become silent together to engage the fleet guard, whatever"
    " their percentage.",
)
FLEET_GUARD_MAX_SECONDS = env.integer(
    "FLEET_GUARD_MAX_SECONDS",
    default=900,
    meaning="Seconds after which the fleet guard is lifted even so, provided that agents are heard. 0:"
    " from then on only an operator can lift it.",
)
FLAP_WINDOW_SECONDS = env.integer(
    "FLAP_WINDOW_SECONDS",
    default=600,
    minimum=1,
    meaning="Half-life in seconds of an agent's recorded recoveries. An agent that recovers again sooner"
    " must first send heartbeats for one lease, then two, and so on, up to this time.",
)
AGENT_RETIRE_AFTER_DAYS = env.integer(
    "AGENT_RETIRE_AFTER_DAYS",
    default=7,
    minimum=1,
    meaning="Days of silence after which an unavailable agent is retired. A heartbeat reactivates it.",
)
AGENT_REMOVE_AFTER_DAYS = env.integer(
    "AGENT_REMOVE_AFTER_DAYS",
    default=30,
    minimum=1,
    meaning="Days of silence after which a retired agent's record is deleted.",
)
DCM_AGENTS = env.boolean(
    "DCM_AGENTS",
    default=False,
    meaning="Accept registrations and heartbeats without a token at /api/v1alpha1/agents, from unmodified"
    " DCM agents. Restrict access to that path to their network. Calls with a token are always"
    " accepted.",
)
PROVIDER_FAILURES = env.integer(
    "PROVIDER_FAILURES",
    default=3,
    minimum=1,
    meaning="Consecutive failed probes after which a service provider is unavailable.",
)
PROVIDER_RECOVERIES = env.integer(
    "PROVIDER_RECOVERIES",
    default=2,
    minimum=1,
    meaning="Consecutive successful probes after which a service provider is ready again.",
)
