"""Liveness of agents: how often they beat and how long we wait. docs/adr/0004 has the reasons."""

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
    meaning="Seconds between an agent's heartbeats. Told to the agent in every answer.",
)
# Share of the interval by which each answer varies, so that a restarted fleet does not beat in step.
HEARTBEAT_JITTER = 0.2
LEASE_SECONDS = env.integer(
    "LEASE_SECONDS",
    default=90,
    minimum=1,
    meaning="Seconds without a heartbeat after which an agent is unavailable. At least 3 intervals. Operators"
    " can set another lease for an agent or an environment.",
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
HEARTBEATS_PER_SECOND = env.integer(
    "HEARTBEATS_PER_SECOND",
    default=4000,
    minimum=1,
    meaning="Heartbeats a second from the whole fleet. A larger one is told a longer interval and lease.",
)
HEARTBEAT_CONNECTIONS = env.integer(
    "HEARTBEAT_CONNECTIONS",
    default=2,
    meaning="Connections of each web worker that write heartbeats together. 0: Django takes each one alone.",
)
JOINS_AT_ONCE = env.integer(
    "JOINS_AT_ONCE",
    default=256,
    meaning="Agents that each web worker lets in in one transaction at most. 0: Django takes each one alone.",
)
FLEET_GUARD_PERCENT = env.integer(
    "FLEET_GUARD_PERCENT",
    default=20,
    minimum=1,
    meaning="Share of an environment's agents, or of all, that must fall silent within a minute to engage"
    " the fleet guard. Above 100: only when no agent is heard at all.",
)
FLEET_GUARD_LEAST = env.integer(
    "FLEET_GUARD_LEAST",
    default=5,
    minimum=1,
    meaning="Agents that must fall silent together, whatever their share, to engage the fleet guard.",
)
FLEET_GUARD_MAX_SECONDS = env.integer(
    "FLEET_GUARD_MAX_SECONDS",
    default=900,
    meaning="Seconds after which the fleet guard is lifted all the same, if agents are heard. 0: only an"
    " operator lifts it then.",
)
FLAP_WINDOW_SECONDS = env.integer(
    "FLAP_WINDOW_SECONDS",
    default=600,
    minimum=1,
    meaning="Seconds in which an agent's returns are half forgotten. Who returns again sooner must first"
    " beat for a lease, then two, and so on, up to this long.",
)
AGENT_RETIRE_AFTER_DAYS = env.integer(
    "AGENT_RETIRE_AFTER_DAYS",
    default=7,
    minimum=1,
    meaning="Days of silence after which an unavailable agent is retired. A heartbeat brings it back.",
)
AGENT_REMOVE_AFTER_DAYS = env.integer(
    "AGENT_REMOVE_AFTER_DAYS",
    default=30,
    minimum=1,
    meaning="Days of silence after which the record of a retired agent is removed.",
)
DCM_AGENTS = env.boolean(
    "DCM_AGENTS",
    default=False,
    meaning="Take registrations and heartbeats without a token at /api/v1alpha1/agents, from unmodified DCM"
    " agents that send none: let only their network reach that path. Calls with a token are always served.",
)
PROVIDER_FAILURES = env.integer(
    "PROVIDER_FAILURES",
    default=3,
    minimum=1,
    meaning="Probes of a service provider that must fail in a row until it is unavailable.",
)
PROVIDER_RECOVERIES = env.integer(
    "PROVIDER_RECOVERIES",
    default=2,
    minimum=1,
    meaning="Good probes in a row that make a service provider ready again.",
)
