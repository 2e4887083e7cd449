"""If-Match and If-None-Match as decisions."""

import pytest

from controlplane.errors import VersionMismatch, VersionRequired
from controlplane.preconditions import Precondition, check

NOTHING_SAID = Precondition()
MATCH_7 = Precondition(versions=frozenset({7}))
ANY = Precondition(any_version=True)
NEW = Precondition(must_be_new=True)
STRANGE = Precondition(versions=frozenset())


@pytest.mark.parametrize(
    ("headers", "current"),
    [(None, None), (None, 7), (NOTHING_SAID, None), (MATCH_7, 7), (ANY, 7), (NEW, None)],
)
def test_a_write_that_knows_what_it_writes_goes_ahead(headers, current):
    check(headers, current)


@pytest.mark.parametrize(
    ("headers", "current"),
    [(MATCH_7, 8), (MATCH_7, None), (ANY, None), (NEW, 7), (STRANGE, 7), (STRANGE, None)],
)
def test_a_write_that_is_mistaken_is_refused(headers, current):
    with pytest.raises(VersionMismatch):
        check(headers, current)


def test_replacing_what_exists_needs_its_version():
    with pytest.raises(VersionRequired) as raised:
        check(NOTHING_SAID, 7)

    assert raised.value.members == {"current": "v7"}
