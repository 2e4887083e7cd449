"""Real web processes: what was acknowledged is seen by every one of them, at once.

tests/nightly/test_freshness.py repeats it more often.
"""

from __future__ import annotations

import pytest

from tests.support.api_client import Api, token_for
from tests.support.freshness import connected, revoke_and_read, take_role_and_read, write_and_read


@pytest.fixture
def rounds():
    """The number of writes, and of refusals; the nightly lane has more."""
    return 40, 6


@pytest.fixture
def readers(live):
    with connected(live.port) as opened:
        yield opened


@pytest.mark.parametrize("query", ["project=flytesnacks&domain=development", ""])
def test_every_process_shows_a_write_that_another_has_acknowledged(readers, query, rounds):
    write_and_read(readers, query, rounds[0])


def test_no_process_serves_a_token_that_was_revoked(readers, rounds):
    Api(token_for("admin")).put("overrides/task_resource", {"attributes": {"limits": {"cpu": "1"}}})
    revoke_and_read(readers, rounds[1])


def test_no_process_serves_a_principal_whose_role_was_taken(readers, rounds):
    take_role_and_read(readers, rounds[1])
