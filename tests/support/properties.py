"""How many examples property tests look at: few every day, many at night (HYPOTHESIS_PROFILE=nightly)."""

from __future__ import annotations

import os

from hypothesis import HealthCheck, settings

NIGHTLY = os.environ.get("HYPOTHESIS_PROFILE") == "nightly"


def load_profile() -> None:
    """Machines are noisy: no limits of time. In CI the same examples every time, elsewhere new ones."""
    untimed = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
    settings.register_profile("everyday", untimed, max_examples=25, derandomize=bool(os.environ.get("CI")))
    settings.register_profile("nightly", untimed, max_examples=1_000)
    settings.load_profile("nightly" if NIGHTLY else "everyday")


def examples(everyday: int, *, nightly: int) -> settings:
    """Settings of one test that needs another number of examples than most."""
    return settings(max_examples=nightly if NIGHTLY else everyday)
