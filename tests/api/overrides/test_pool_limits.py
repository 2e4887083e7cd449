"""Caps of pools as overrides of an operators' type."""

from __future__ import annotations

import pytest

from controlplane.events.models import Event
from controlplane.pools.models import PoolLimit
from overrides.pool_limits import follow_overrides
from tests.support.api_client import make_project
from tests.support.paths import ROOT

AT = "project=flytesnacks"


@pytest.fixture
def limited(api, db):
    """A pool of five units; the project has set itself a cap of two."""
    make_project()
    definition = (ROOT / "examples/resource-types/pool_limits.yaml").read_bytes()
    assert api.post("overrides:apply", definition, Content_Type="application/yaml").status_code == 200
    api.put("pools/snowflake", {"capacity": 5})
    assert cap(api, 2).status_code == 201
    return api


def cap(api, number: int, **headers: str):
    body = {"attributes": {"pools": [{"name": "snowflake", "cap": number}, {"name": "nothing", "cap": 1}]}}
    return api.put(f"overrides/pool_limits?{AT}", body, **headers)


def units(api, number: int):
    scope = {"project": "flytesnacks"}
    return api.post("pools/snowflake/leases", {"token": f"t{number}", "scope": scope, "units": number})


def test_a_cap_of_an_override_holds_until_the_override_goes(limited):
    assert follow_overrides() == 1
    assert follow_overrides() == 0
    refused = units(limited, 3)
    assert (refused.status_code, refused.json()["limits"][0]["cap"]) == (429, 2)
    assert limited.get("pools/snowflake/limits").json()["items"][0]["override_cap"] == 2
    assert Event.objects.filter(type="pool.limit_changed", actor="system:overrides").count() == 1

    etag = limited.get(f"overrides/pool_limits?{AT}")["ETag"]
    cap(limited, 3, If_Match=etag)
    assert follow_overrides() == 1
    assert units(limited, 3).status_code == 201

    etag = limited.get(f"overrides/pool_limits?{AT}")["ETag"]
    limited.delete(f"overrides/pool_limits?{AT}", If_Match=etag)
    assert follow_overrides() == 1
    assert not PoolLimit.objects.exists()
    assert limited.get("pools/snowflake")["ETag"] == '"v1"', "What operators write meanwhile is refused."


def test_the_stricter_of_override_and_pool_holds_and_each_stays_without_the_other(limited):
    follow_overrides()
    limited.put(f"pools/snowflake/limits?{AT}", {"cap": 1, "weight": 300}, If_Match="*")
    assert units(limited, 2).json()["limits"][0]["cap"] == 1
    assert limited.delete(f"pools/snowflake/limits?{AT}", If_Match="*").status_code == 204
    assert units(limited, 2).status_code == 201
    limit = PoolLimit.objects.get()
    assert (limit.cap, limit.override_cap, limit.weight) == (None, 2, None)


def test_a_pool_that_is_made_later_gets_its_cap(limited):
    limited.put("pools/nothing", {"capacity": 5})
    assert follow_overrides() == 2
    assert limited.get("pools/nothing/limits").json()["items"][0]["override_cap"] == 1
