"""Policies of dispatch from the settings."""

from __future__ import annotations

from datetime import timedelta

from django.conf import settings

from registry.dispatch.lifecycle.service_types import Profiles
from registry.dispatch.lifecycle.timers import TimerPolicy


def service_profiles() -> Profiles:
    profiles: Profiles = settings.DISPATCH_SERVICE_TYPES
    return profiles


def timer_policy() -> TimerPolicy:
    return TimerPolicy(
        pending=timedelta(seconds=settings.DISPATCH_PENDING_SECONDS),
        pending_tries=settings.DISPATCH_PENDING_TRIES,
        queued=timedelta(seconds=settings.DISPATCH_QUEUED_SECONDS),
        provisioning=timedelta(seconds=settings.DISPATCH_PROVISIONING_ALARM_SECONDS),
        deletion=timedelta(seconds=settings.DISPATCH_DELETION_SECONDS),
        deletion_tries=settings.DISPATCH_DELETION_TRIES,
        completion=timedelta(seconds=settings.DISPATCH_DELETION_ALARM_SECONDS),
        give_up=timedelta(seconds=settings.DISPATCH_GIVE_UP_SECONDS),
    )
