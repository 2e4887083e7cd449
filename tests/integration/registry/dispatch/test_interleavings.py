"""Interleavings of faults over Postgres: storage, requests, answers, sweep, outbox, inbox. More at night."""

from __future__ import annotations

import pytest

from tests.support import dispatch_database

pytestmark = pytest.mark.django_db


@pytest.mark.parametrize("seed", range(6))
def test_an_interleaving_ends_well(seed: int) -> None:
    dispatch_database.run(seed)
