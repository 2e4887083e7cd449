"""A hundred thousand interleavings of faults in dispatch, in two processes; DISPATCH_SEEDS sets how many."""

from __future__ import annotations

import os
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor

import pytest

from tests.support import dispatch_database, dispatch_world

SEEDS = int(os.environ.get("DISPATCH_SEEDS", "100000"))
# Those of the everyday suite come before.
FIRST, PART, PROCESSES = 10_000, 1_000, 2


def test_a_hundred_thousand_interleavings_end_well() -> None:
    started_at = time.monotonic()
    parts = [range(first, first + PART) for first in range(FIRST, FIRST + SEEDS, PART)]
    ends: Counter[str] = Counter()
    with ProcessPoolExecutor(PROCESSES) as processes:
        for part_ends, problem in processes.map(_play, parts):
            ends += part_ends
            assert not problem, problem

    seconds = time.monotonic() - started_at
    print(f"\n{ends.total():,} interleavings in {seconds:.0f} s; they ended {dict(ends.most_common())}")


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(100, 200))
def test_an_interleaving_over_postgres_ends_well(seed: int) -> None:
    dispatch_database.run(seed)


def _play(seeds: range) -> tuple[Counter[str], str]:
    ends: Counter[str] = Counter()
    for seed in seeds:
        try:
            ends[dispatch_world.run(seed).resource.state] += 1
        except dispatch_world.Broken:
            return ends, dispatch_world.explain(seed)
    return ends, ""
