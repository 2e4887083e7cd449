"""Pages of pools: who uses the units, who waits and why, limits, revocations."""
