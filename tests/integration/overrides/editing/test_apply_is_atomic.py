"""Applies that meet: readers see all of one or nothing of it, and writers lose nothing."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connections

from controlplane.errors import ControlplaneError, VersionMismatch
from controlplane.preconditions import Precondition
from controlplane.scopes import Scope
from overrides.editing.apply import ApplyOptions, apply_statements
from overrides.editing.writes import WriteOptions, get_override, put_override
from overrides.effective.effective import effective_many
from overrides.models import Override, OverrideVersion, Revision
from overrides.resolution.addresses import Address, Statement
from tests.support.api_client import ACTOR, make_project

SCOPES = [Scope("development", "flytesnacks", f"w{number}") for number in range(30)]
WEC = "workflow_execution_config"


def statements(value: int) -> list[Statement]:
    return [Statement(Address(WEC, scope), {"max_parallelism": value}) for scope in SCOPES]


def closing(work):
    """Threads leave no connection behind, or the test database could not be dropped."""
    try:
        return work()
    finally:
        connections.close_all()


@pytest.mark.django_db(transaction=True)
def test_a_reader_never_sees_an_apply_half_done():
    make_project()
    apply_statements(statements(0), options=ApplyOptions("git"), actor=ACTOR)
    done = threading.Event()
    max_parallelisms: list[set[int]] = []

    def read() -> None:
        while not done.is_set():
            answers = effective_many(SCOPES, resource_type=WEC)
            max_parallelisms.append(
                {answer.types[0].resolved.attributes["max_parallelism"] for answer in answers}
            )

    with ThreadPoolExecutor(4) as pool:
        readers = [pool.submit(closing, read) for _ in range(3)]
        for value in range(1, 25):
            apply_statements(statements(value), options=ApplyOptions("git"), actor=ACTOR)
        done.set()
        for reader in readers:
            reader.result()

    assert len(max_parallelisms) >= 20
    assert {len(values) for values in max_parallelisms} == {1}
    assert len(set().union(*max_parallelisms)) > 1


@pytest.mark.django_db(transaction=True)
def test_managers_that_apply_at_once_all_get_their_values():
    make_project()
    address = Address("cluster_resource", Scope(project="flytesnacks"))

    def apply(number: int) -> None:
        statement = Statement(address, {"attributes": {f"k{number}": "v"}})
        closing(lambda: apply_statements([statement], options=ApplyOptions(f"m{number}"), actor=ACTOR))

    with ThreadPoolExecutor(10) as pool:
        list(pool.map(apply, range(20)))

    override = Override.objects.get()
    assert override.attributes["attributes"] == {f"k{number}": "v" for number in range(20)}
    assert override.owners == {f"/attributes/k{number}": [f"m{number}"] for number in range(20)}


@pytest.mark.django_db(transaction=True)
def test_twenty_writers_with_if_match_lose_no_update():
    address = Address(WEC, Scope())
    put_override(address, {"max_parallelism": 0}, actor=ACTOR)
    refused = itertools.count()

    def add_one(_: int) -> None:
        while True:
            current = get_override(address)
            options = WriteOptions(Precondition(versions=frozenset({current.version})))
            try:
                put_override(
                    address,
                    {"max_parallelism": current.attributes["max_parallelism"] + 1},
                    actor=ACTOR,
                    options=options,
                )
                return
            except VersionMismatch:
                next(refused)

    with ThreadPoolExecutor(20) as pool:
        list(pool.map(lambda n: closing(lambda: add_one(n)), range(20)))

    assert get_override(address).attributes == {"max_parallelism": 20}
    assert list(OverrideVersion.objects.order_by("version").values_list("version", flat=True)) == list(
        range(1, 22)
    )


@pytest.mark.django_db(transaction=True)
def test_revisions_have_no_gaps_and_their_times_rise_whoever_comes_first():
    def write(number: int) -> None:
        address = Address(WEC, Scope(domain=("development", "staging", "production")[number % 3]))
        try:
            closing(lambda: put_override(address, {"max_parallelism": number}, actor=ACTOR))
        except ControlplaneError:
            raise AssertionError(number) from None

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(1, 25)))

    rows = list(Revision.objects.order_by("revision").values_list("revision", "made_at"))
    assert [revision for revision, _ in rows] == list(range(1, 25))
    assert [made_at for _, made_at in rows] == sorted(made_at for _, made_at in rows)
