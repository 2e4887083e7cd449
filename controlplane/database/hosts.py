"""The order in which the hosts of a database's URL are tried. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Set
from typing import Any

# Host and port, as libpq has them.
Host = tuple[str, str]
_DEFAULT_PORT = "5432"
_ONE_ONLY = frozenset({"read-write", "primary"})


def hosts_of(parameters: Mapping[str, Any]) -> list[Host]:
    """Return the hosts in the order of the URL."""
    hosts = str(parameters.get("host") or "").split(",")
    ports = str(parameters.get("port") or _DEFAULT_PORT).split(",")
    if len(ports) == 1:
        ports *= len(hosts)
    return [(host, port or _DEFAULT_PORT) for host, port in zip(hosts, ports, strict=False)]


def in_order(
    parameters: Mapping[str, Any], *, preferred: Host | None, avoided: Set[Host]
) -> Mapping[str, Any]:
    """Return the parameters with the preferred host first, and those that are avoided last.

    Only where one of them is meant, the primary: all are tried until it is found. A machine that answers
    nothing costs `connect_timeout` each time that it comes first.
    """
    hosts = hosts_of(parameters)
    if (
        len(hosts) < 2
        or "hostaddr" in parameters
        or parameters.get("target_session_attrs") not in _ONE_ONLY
        or not (preferred or avoided)
    ):
        return parameters
    ordered = sorted(hosts, key=lambda host: (host in avoided, host != preferred))
    return {
        **parameters,
        "host": ",".join(host for host, _ in ordered),
        "port": ",".join(port for _, port in ordered),
    }
