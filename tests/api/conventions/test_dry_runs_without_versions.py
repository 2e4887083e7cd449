"""A dry run needs no `If-Match`: every operation that can answer 428."""

from __future__ import annotations

from dataclasses import replace

import pytest

from tests.api.access.test_visibility import METHODS, send
from tests.api.access.visibility_table import TABLE, Ask
from tests.api.access.visibility_world import World, make_world
from tests.support.api_client import Api
from tests.support.openapi import operations

pytestmark = pytest.mark.django_db
VERSIONED = {operation["operationId"] for _, operation in operations() if "428" in operation["responses"]}


@pytest.fixture
def world(api: Api) -> World:
    return make_world(api)


def test_no_dry_run_is_refused_for_want_of_a_version(world: World) -> None:
    administrator = world.readers[-1]
    refused_live, refused_dry = set(), set()
    for operation in VERSIONED:
        for ask in (replace(each, headers=()) for each in TABLE[operation]):
            if send(administrator, METHODS[operation], ask, world.present).status_code == 428:
                refused_live.add(operation)
                answer = send(administrator, METHODS[operation], dry(ask), world.present)
                if answer.status_code == 428:
                    refused_dry.add(operation)

    # The others of the table name what is not there, or are refused for another reason first.
    assert len(refused_live) >= 29, sorted(VERSIONED - refused_live)
    assert refused_dry == set()


def dry(ask: Ask) -> Ask:
    return replace(ask, path=f"{ask.path}{'&' if '?' in ask.path else '?'}dry_run=true")
