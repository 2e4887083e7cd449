"""What the settings say of probes."""

from __future__ import annotations

from django.conf import settings

from controlplane.extras import is_installed
from controlplane.outgoing import allowed_networks
from registry.agent_configs.reachability.judge import Patience
from registry.agent_configs.reachability.probe import Rules


def are_wanted() -> bool:
    """Agents speak gRPC: without its package nobody can ask them."""
    return bool(settings.AGENT_PROBES != "off" and is_installed("flyte"))


def gate_new() -> bool:
    """True if a new document waits until its agents were probed, and stays out while they are away."""
    return bool(settings.AGENT_PROBES == "gate-new" and is_installed("flyte"))


def patience() -> Patience:
    return Patience(settings.AGENT_PROBE_FAILURES, settings.AGENT_PROBE_SUCCESSES)


def rules() -> Rules:
    return Rules(
        allowed_networks(),
        settings.AGENT_PROBE_PORTS,
        settings.AGENT_PROBE_TIMEOUT_SECONDS,
        settings.AGENT_PROBE_ROOTS,
    )
