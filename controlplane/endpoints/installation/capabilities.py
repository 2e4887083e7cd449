"""What this installation offers and allows: optional features, and limits that clients can respect."""

from __future__ import annotations

from django.conf import settings

from controlplane.api.idempotency import RETENTION
from controlplane.api.pages import DEFAULT_LIMIT, MAX_LIMIT
from controlplane.replicas import reading


def limits() -> dict[str, int]:
    """Return limits by name; their units are in the names. 0: no limit."""
    return {
        "body_bytes": settings.MAX_BODY_BYTES,
        "bundle_bytes": settings.MAX_BUNDLE_BYTES,
        "confirm_above_scopes": settings.CONFIRM_ABOVE_SCOPES,
        "default_page_items": DEFAULT_LIMIT,
        "idempotency_key_hours": int(RETENTION.total_seconds()) // 3600,
        "json_depth": settings.MAX_JSON_DEPTH,
        "page_items": MAX_LIMIT,
        "requests_per_minute": settings.THROTTLE_CALLER_PER_MINUTE,
        "requests_per_minute_without_token": settings.THROTTLE_ANONYMOUS_PER_MINUTE,
    }


def features() -> dict[str, bool]:
    """Return whether each optional feature is on."""
    return {
        "anonymous_read": settings.ANONYMOUS_READ,
        "archives": bool(settings.ARCHIVE_URL),
        "break_glass": settings.BREAK_GLASS,
        "dcm_agents": settings.DCM_AGENTS,
        "flyte_grpc": bool(settings.FLYTE_GRPC_ADDRESS),
        "messaging": bool(settings.NATS_URL),
        "oidc_provider": settings.OIDC_PROVIDER,
        "optimus_paths": settings.OPTIMUS_COMPAT,
        "organisations": settings.ORGANISATIONS,
        "overrides_from_files": settings.OVERRIDES_SOURCE == "file",
        "read_replicas": reading.are_configured(),
        "scim": settings.SCIM,
        "stored_secrets": bool(settings.SECRETS_KEY_FILE),
    }
