"""Randomness for times that must not coincide."""

from __future__ import annotations

import os
import random

CHANCE = random.Random()  # noqa: S311  (jitter is no secret)
# Web workers are forked from one process, and would otherwise all draw the same numbers.
os.register_at_fork(after_in_child=CHANCE.seed)


def steady_chance(*parts: object) -> random.Random:
    """Return randomness that is the same for the same parts: a second read of an object says the same."""
    return random.Random(" ".join(map(str, parts)))  # noqa: S311  (jitter is no secret)
