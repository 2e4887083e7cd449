"""Limits and policies from the settings."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

from controlplane.formats.go_durations import SECOND
from registry.agent_configs.bundles.gates import GateLimits
from registry.agent_configs.bundles.generations import GenerationPolicy
from registry.agent_configs.claims.contests import TieRule
from registry.agent_configs.claims.decide import ClaimPolicy
from registry.agent_configs.documents.limits import BUILT_IN_TASK_TYPES, Limits
from registry.agent_configs.documents.published import Naming


def document_limits() -> Limits:
    return Limits(
        document_bytes=settings.AGENT_CONFIGS_DOCUMENT_BYTES,
        files=settings.AGENT_CONFIGS_MAX_FILES,
        agents=settings.AGENT_CONFIGS_MAX_AGENTS,
        task_types=settings.AGENT_CONFIGS_MAX_TASK_TYPES,
        service_config_bytes=settings.AGENT_CONFIGS_SERVICE_CONFIG_BYTES,
        longest_timeout=settings.AGENT_CONFIGS_LONGEST_TIMEOUT_SECONDS * SECOND,
        longest_list_timeout=settings.AGENT_CONFIGS_LONGEST_LIST_TIMEOUT_SECONDS * SECOND,
        tls_required=settings.AGENT_CONFIGS_TLS_REQUIRED,
        allowed_hosts=frozenset(settings.AGENT_CONFIGS_ALLOWED_HOSTS),
        reserved_task_types=_reserved_task_types(),
        max_diagnostics=settings.AGENT_CONFIGS_MISTAKES_TOLD,
    )


def default_timeouts() -> tuple[int, int, int]:
    """Return nanoseconds: the default timeouts of calls and of listing, and the maximum for listing."""
    return (
        settings.AGENT_CONFIGS_DEFAULT_TIMEOUT_SECONDS * SECOND,
        settings.AGENT_CONFIGS_LIST_TIMEOUT_SECONDS * SECOND,
        settings.AGENT_CONFIGS_LONGEST_LIST_TIMEOUT_SECONDS * SECOND,
    )


def claim_policy() -> ClaimPolicy:
    return ClaimPolicy(
        Naming(namespaced_ids=settings.AGENT_CONFIGS_NAMESPACED_IDS),
        _reserved_task_types(),
        TieRule(settings.AGENT_CONFIGS_SIMULTANEOUS),
        settings.AGENT_CONFIGS_FLAG_CONFLICTS,
        settings.AGENT_CONFIGS_STRICT_ENDPOINTS,
    )


def gate_limits() -> GateLimits:
    return GateLimits(
        settings.AGENT_CONFIGS_BUNDLE_BYTES,
        settings.AGENT_CONFIGS_REMOVAL_PERCENT / 100,
        settings.AGENT_CONFIGS_REMOVAL_COUNT,
        settings.AGENT_CONFIGS_APPROVAL_REQUIRED,
        settings.AGENT_CONFIGS_TEAM_BYTES,
        settings.AGENT_CONFIGS_TEAM_AGENTS,
    )


def generation_policy() -> GenerationPolicy:
    last_good = settings.AGENT_CONFIGS_LAST_GOOD_SECONDS
    return GenerationPolicy(
        timedelta(seconds=last_good) if last_good else None,
        settings.AGENT_CONFIGS_FLAPS,
        timedelta(seconds=settings.AGENT_CONFIGS_FLAP_WINDOW_SECONDS),
    )


def claim_grace() -> timedelta:
    return timedelta(seconds=settings.AGENT_CONFIGS_GRACE_SECONDS)


def _reserved_task_types() -> frozenset[str]:
    return BUILT_IN_TASK_TYPES | frozenset(settings.AGENT_CONFIGS_RESERVED_TASK_TYPES)
