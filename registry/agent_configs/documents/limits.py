"""Limits of published documents; docs/adr/0020 explains the numbers. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from controlplane.formats.go_durations import MINUTE, SECOND

# Task types that Flyte's own plugins serve. Propeller does not start if an agent claims one.
BUILT_IN_TASK_TYPES = frozenset(
    {
        "container",
        "container_array",
        "dask",
        "mpi",
        "python-task",
        "pytorch",
        "raw-container",
        "ray",
        "sidecar",
        "spark",
        "tensorflow",
    }
)


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits that protect other teams from a hostile or faulty document.

    document_bytes: of the whole text. files: of a ConfigMap. agents, task_types: in one document.
    longest_timeout: nanoseconds. longest_list_timeout: of listing; at startup propeller waits for each agent
    in turn, so a slow agent of one team delays all teams.
    max_diagnostics: per severity; the rest are counted.
    allowed_hosts: host names, addresses and networks that are accepted although they would be denied.
    """

    document_bytes: int = 1 << 20
    files: int = 100
    agents: int = 100
    task_types: int = 1000
    service_config_bytes: int = 16 << 10
    longest_timeout: int = 5 * MINUTE
    longest_list_timeout: int = 5 * SECOND
    tls_required: bool = False
    allowed_hosts: frozenset[str] = frozenset()
    reserved_task_types: frozenset[str] = BUILT_IN_TASK_TYPES
    max_diagnostics: int = 100
