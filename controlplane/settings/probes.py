"""Probes of published agents' endpoints: docs/adr/0034 has the reasons."""

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
        raise ValueError(f"{raw!r} is none of {', '.join(_POLICIES)}")
    return raw


def _ports(raw: str) -> list[tuple[int, int]]:
    found = []
    for part in filter(None, (one.strip() for one in raw.split(","))):
        first, _, last = part.partition("-")
        low, high = int(first), int(last or first)
        if not 1 <= low <= high <= 65535:
            raise ValueError(f"{part!r} is no port, and no range of them")
        found.append((low, high))
    return found


AGENT_PROBES = env.parsed(
    "AGENT_PROBES",
    _policy,
    default="warn",
    meaning="`warn`: tell which published agents do not answer. `gate-new`: and leave new documents out"
    " until their agents answer, or cannot be asked from here. `off`: ask none.",
)
AGENT_PROBE_PORTS = env.parsed(
    "AGENT_PROBE_PORTS",
    _ports,
    default="80,443,8000-9999,30000-32767,50000-50099",
    meaning="Ports that are probed, such as 443,8000-8999. Leave those of databases out.",
)
AGENT_PROBE_SECONDS = env.integer(
    "AGENT_PROBE_SECONDS",
    default=60,
    minimum=1,
    meaning="How often an endpoint is probed, give or take a fifth; up to eight times as rarely while it is"
    " away for long.",
)
AGENT_PROBE_LOOK_SECONDS = env.integer(
    "AGENT_PROBE_LOOK_SECONDS",
    default=5,
    minimum=1,
    meaning="How often it is looked which endpoints are due.",
)
AGENT_PROBES_AT_ONCE = env.integer(
    "AGENT_PROBES_AT_ONCE", default=16, minimum=1, meaning="Endpoints that are probed at the same time."
)
AGENT_PROBE_TIMEOUT_SECONDS = env.integer(
    "AGENT_PROBE_TIMEOUT_SECONDS",
    default=2,
    minimum=1,
    meaning="For so long a probe waits for a connection, a handshake or an answer.",
)
AGENT_PROBE_FAILURES = env.integer(
    "AGENT_PROBE_FAILURES",
    default=3,
    minimum=1,
    meaning="After so many probes in a row that fail, an endpoint counts as away.",
)
AGENT_PROBE_SUCCESSES = env.integer(
    "AGENT_PROBE_SUCCESSES",
    default=2,
    minimum=1,
    meaning="After so many that succeed, one that was away is back.",
)
AGENT_PROBE_ROOTS = env.text(
    "AGENT_PROBE_ROOTS",
    default="",
    meaning="A PEM file of certificates that probes trust instead of the machine's own.",
)
