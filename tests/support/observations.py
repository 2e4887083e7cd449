"""How often a histogram of this process without labels was observed."""

from __future__ import annotations

from prometheus_client import REGISTRY


def observed(name: str, *, within: float | None = None) -> float:
    """Return the number of observations. within: only those of at most so many seconds, which is a bucket."""
    if within is None:
        return REGISTRY.get_sample_value(f"{name}_count") or 0
    return REGISTRY.get_sample_value(f"{name}_bucket", {"le": str(within)}) or 0
