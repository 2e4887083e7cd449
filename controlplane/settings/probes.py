"""Probes of published agents' endpoints. For the reasons, see docs/adr/0034."""

from controlplane.settings import environment as env

__all__ = [
    "AGENT_PROBES",
    "AGENT_PROBES_AT_ONCE",
    "AGENT_PROBE_FAILURES",
    "AGENT_PROBE_LOOK_SECONDS",
    "AGENT_PROBE_PORTS",
    "AGENT_PROBE_ROOTS",
    "AGENT_PROBE_SECONDS",
    "AGENT_PROBE_SUCCESSES",
    "AGENT_PROBE_TIMEOUT_SECONDS",
]
_POLICIES = ("off", "warn", "gate-new")


def _policy(raw: str) -> str:
    if raw not in _POLICIES:
        raise ValueError(f"{raw!r} is not one of {', '.join(_POLICIES)}")
    return raw


def _ports(raw: str) -> list[tuple[int, int]]:
    ranges = []
    for part in filter(None, (item.strip() for item in raw.split(","))):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= 65535:
            raise ValueError(f"{part!r} is neither a port nor a range of ports")
        ranges.append((low, high))
    return ranges


AGENT_PROBES = env.parsed(
    "AGENT_PROBES",
    _policy,
    default="warn",
    meaning="`warn`: report published agents that do not respond. `gate-new`: also hold back new documents"
    " until their agents respond or turn out to be unreachable from here. `off`: no probes.",
)
AGENT_PROBE_PORTS = env.parsed(
    "AGENT_PROBE_PORTS",
    _ports,
    default="80,443,8000-9999,30000-32767,50000-50099",
    meaning="Ports that may be probed, such as `443,8000-8999`. Omit the ports of databases.",
)
AGENT_PROBE_SECONDS = env.integer(
    "AGENT_PROBE_SECONDS",
    default=60,
    minimum=1,
    meaning="Seconds between two probes of an endpoint, plus or minus 20 %; up to eight times as long"
    " while the endpoint stays unreachable.",
)
AGENT_PROBE_LOOK_SECONDS = env.integer(
    "AGENT_PROBE_LOOK_SECONDS",
    default=5,
    minimum=1,
    meaning="Seconds between two checks for endpoints that are due for a probe.",
)
AGENT_PROBES_AT_ONCE = env.integer(
    "AGENT_PROBES_AT_ONCE",
    default=16,
    minimum=1,
    meaning="Maximum number of endpoints probed at the same time.",
)
AGENT_PROBE_TIMEOUT_SECONDS = env.integer(
    "AGENT_PROBE_TIMEOUT_SECONDS",
    default=2,
    minimum=1,
    meaning="Seconds that a probe waits for a connection, a handshake or a response.",
)
AGENT_PROBE_FAILURES = env.integer(
    "AGENT_PROBE_FAILURES",
    default=3,
    minimum=1,
    meaning="Consecutive failed probes after which an endpoint is unreachable.",
)
AGENT_PROBE_SUCCESSES = env.integer(
    "AGENT_PROBE_SUCCESSES",
    default=2,
    minimum=1,
    meaning="Consecutive successful probes after which an unreachable endpoint is reachable again.",
)
AGENT_PROBE_ROOTS = env.text(
    "AGENT_PROBE_ROOTS",
    default="",
    meaning="PEM file with the certificates that probes trust, instead of the system's.",
)
