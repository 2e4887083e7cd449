"""Real web processes show at once what was acknowledged: more rounds than in the everyday suite."""

from __future__ import annotations

import pytest

from tests.integration.overrides.api.effective.test_freshness import (  # noqa: F401  (the tests of this lane)
    readers,
    test_every_process_shows_a_write_that_another_has_acknowledged,
    test_no_process_serves_a_principal_whose_role_was_taken,
    test_no_process_serves_a_token_that_was_revoked,
)


@pytest.fixture
def rounds():
    return 150, 20
