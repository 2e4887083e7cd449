"""Probe policies from the settings."""

from __future__ import annotations

from django.conf import settings

from controlplane.outgoing import allowed_networks
from registry.agent_configs.reachability.judge import ProbeThresholds
from registry.agent_configs.reachability.probe import ProbeRules


def probes_are_enabled() -> bool:
    return bool(settings.AGENT_PROBES != "off")


def new_documents_wait() -> bool:
    """True if a new document is not served until its agents are probed and reachable."""
    return bool(settings.AGENT_PROBES == "gate-new")


def probe_thresholds() -> ProbeThresholds:
    return ProbeThresholds(settings.AGENT_PROBE_FAILURES, settings.AGENT_PROBE_SUCCESSES)


def probe_rules() -> ProbeRules:
    return ProbeRules(
        allowed_networks(),
        settings.AGENT_PROBE_PORTS,
        settings.AGENT_PROBE_TIMEOUT_SECONDS,
        settings.AGENT_PROBE_ROOTS,
    )
