"""Probe policies from the settings."""

from __future__ import annotations

from django.conf import settings

from controlplane.extras import is_installed
from controlplane.outgoing import allowed_networks
from registry.agent_configs.reachability.judge import ProbeThresholds
from registry.agent_configs.reachability.probe import ProbeRules


def probes_are_enabled() -> bool:
    """False without the extra `flyte` as well: probes use gRPC."""
    return bool(settings.AGENT_PROBES != "off" and is_installed("flyte"))


def new_documents_wait() -> bool:
    """True if a new document is not served until its agents are probed and reachable."""
    return bool(settings.AGENT_PROBES == "gate-new" and is_installed("flyte"))


def probe_thresholds() -> ProbeThresholds:
    return ProbeThresholds(settings.AGENT_PROBE_FAILURES, settings.AGENT_PROBE_SUCCESSES)


def probe_rules() -> ProbeRules:
    return ProbeRules(
        allowed_networks(),
        settings.AGENT_PROBE_PORTS,
        settings.AGENT_PROBE_TIMEOUT_SECONDS,
        settings.AGENT_PROBE_ROOTS,
    )
