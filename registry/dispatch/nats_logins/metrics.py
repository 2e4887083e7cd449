"""Prometheus metrics of logins at NATS."""

from prometheus_client import Counter

NATS_LOGINS = Counter("cp_nats_logins_total", "Logins of agents at NATS.", ["result"])
NATS_SESSIONS_ENDED = Counter(
    "cp_nats_sessions_ended_total", "Connections of agents to NATS that were ended by the control plane."
)
