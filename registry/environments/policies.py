"""The policy of the fleet guard from the settings."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

from registry.environments.fleet_guard import GuardPolicy

_LIFT_PART = 0.5


def guard_policy() -> GuardPolicy:
    share = settings.FLEET_GUARD_PERCENT / 100
    return GuardPolicy(
        share=share,
        least=settings.FLEET_GUARD_LEAST,
        lift_share=share * _LIFT_PART,
        longest=timedelta(seconds=settings.FLEET_GUARD_MAX_SECONDS),
    )
