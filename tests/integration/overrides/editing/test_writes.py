"""Writers that meet: no lost update, no duplicate, revisions in order."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from controlplane.errors import ControlplaneError
from controlplane.preconditions import Precondition
from controlplane.scopes import Scope
from overrides.editing.writes import WriteOptions, get_override, put_override
from overrides.models import OverrideVersion
from overrides.resolution.addresses import Address
from tests.support.api_client import ACTOR

ADDRESS = Address("workflow_execution_config", Scope())


def write(number: int, precondition: Precondition | None) -> int | None:
    """Return the version that was written, or None if the write was refused."""
    try:
        override, _ = put_override(
            ADDRESS, {"max_parallelism": number}, actor=ACTOR, options=WriteOptions(precondition)
        )
    except ControlplaneError:
        return None
    finally:
        connections.close_all()
    return override.version


@pytest.mark.django_db(transaction=True)
def test_of_many_first_writes_one_wins_and_none_fails_with_a_duplicate_key():
    with ThreadPoolExecutor(8) as pool:
        written = list(pool.map(lambda n: write(n, Precondition(must_be_new=True)), range(8)))

    assert [version for version in written if version] == [1]


@pytest.mark.django_db(transaction=True)
def test_counting_up_by_compare_and_set_loses_no_update():
    """Each of 8 workers adds one five times: read, then write with the version that it read."""
    write(0, None)

    def add_one(_: int) -> None:
        for _ in range(5):
            while True:
                current = get_override(ADDRESS)
                number = current.attributes["max_parallelism"] + 1
                if write(number, Precondition(versions=frozenset({current.version}))):
                    break

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add_one, range(8)))

    assert get_override(ADDRESS).attributes == {"max_parallelism": 40}
    versions = list(OverrideVersion.objects.order_by("revision").values_list("version", flat=True))
    assert versions == list(range(1, 42))
