"""Opposite events: those that end what another has begun, of the same object. Pure."""

from __future__ import annotations

from controlplane.delivery.filters import is_named

_AGENT_ENDS = ("agent.ready", "agent.retired", "agent.removed")
_PROVIDER_ENDS = ("provider.ready", "provider.removed")
# Type that begins something: types that end it.
_ENDS: dict[str, tuple[str, ...]] = {
    "agent.unavailable": _AGENT_ENDS,
    "agent.unknown": _AGENT_ENDS,
    "agent.congested": _AGENT_ENDS,
    "agent.flapping": _AGENT_ENDS,
    "agent.requests_waiting": _AGENT_ENDS,
    "provider.unhealthy": _PROVIDER_ENDS,
    "provider.unavailable": _PROVIDER_ENDS,
    "provider.expired": _PROVIDER_ENDS,
    "fleet_guard.engaged": ("fleet_guard.lifted",),
    "agent_config_bundle.rejected": ("agent_config_bundle.applied",),
    "agent_config_bundle.unacknowledged": ("agent_config_bundle.applied",),
    "agent_config.quarantined": ("agent_config.readmitted", "agent_config.removed"),
    "agent_config_folder.refused": ("agent_config_folder.loaded", "agent_config_folder.confirmed"),
    "agent_config_cluster.refused": ("agent_config_cluster.loaded", "agent_config_cluster.confirmed"),
    "overrides_source.refused": ("overrides_source.loaded", "overrides_source.confirmed"),
    "resource.overdue": ("resource.running", "resource.deleted", "resource.cancelled"),
    "resource.failed": ("resource.retried", "resource.running", "resource.deleted"),
    "dead_letter.stored": ("dead_letter.replayed", "dead_letter.discarded"),
    "sink.disabled": ("sink.resumed", "sink.deleted"),
    "sink.paused": ("sink.resumed", "sink.deleted"),
    "alertmanager.firing": ("alertmanager.resolved",),
}
_ENDING = frozenset(name for names in _ENDS.values() for name in names)


def types_ending(event_type: str) -> tuple[str, ...]:
    """Return the types that end what this type begins; none for a fact that lasts."""
    return _ENDS.get(event_type, ())


def types_ended_by(event_type: str) -> tuple[str, ...]:
    """Return the types whose alerts this type ends."""
    return tuple(begun for begun, ends in _ENDS.items() if event_type in ends)


def raises_alert(event_type: str, wanted: tuple[str, ...]) -> bool:
    """True if a rule for these types raises an alert for the type.

    A type that ends alerts raises one itself only for a rule that names it in full.
    """
    if event_type in _ENDING:
        return event_type in wanted
    return not wanted or any(is_named(event_type, name) for name in wanted)


def lasting_types() -> tuple[str, ...]:
    """Return the types whose alerts last until an event ends them."""
    return tuple(_ENDS)
