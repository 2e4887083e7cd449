"""Metrics of Flyte's calls under FlyteAdmin's names."""

from __future__ import annotations

import pytest
from prometheus_client.parser import text_string_to_metric_families

from overrides.flyte.admin_metrics import quantile
from tests.support.api_client import Api, make_project, token_for

PREFIX = "flyte:admin:admin:get_project_domain_attrs:"


def figures(api: Api) -> dict[str, float]:
    response = api.get("/metrics/flyteadmin")
    assert response.status_code == 200
    families = text_string_to_metric_families(response.content.decode())
    return {
        sample.name + sample.labels.get("quantile", ""): sample.value
        for family in families
        for sample in family.samples
    }


def test_calls_count_under_the_names_of_flyteadmin(api, db):
    make_project()
    path = "/api/v1/project_domain_attributes/flytesnacks/development?resource_type=0"
    missing = "/api/v1/project_domain_attributes/nothing/development?resource_type=0"
    before = figures(api)
    for address in (path, missing, missing):
        api.get(address)
    after = figures(api)

    def rise(name: str) -> float:
        return after.get(PREFIX + name, 0.0) - before.get(PREFIX + name, 0.0)

    assert rise("success") + rise("errors") == 3
    codes = {name.removeprefix(PREFIX) for name in after if ":codes:" in name and name.startswith(PREFIX)}
    assert sum(map(rise, codes)) == 3
    assert rise("codes:NotFound") >= 1
    assert rise("duration_ms_count") == 3
    assert 0 < after[PREFIX + "duration_ms0.5"] <= after[PREFIX + "duration_ms0.99"]


def test_only_global_viewers_see_them_and_other_names_do_not_exist(api, db):
    assert Api().get("/metrics/flyteadmin").status_code == 401
    assert Api(token_for("agent")).get("/metrics/flyteadmin").status_code == 403
    assert api.get("/metrics/nothing").json()["code"] == "not_found"


@pytest.mark.parametrize(
    ("share", "expected"), [(0.5, 0.1), (0.9, 0.5), (0.25, 0.05), (0.99, 0.5), (0.0, 0.0)]
)
def test_a_quantile_is_interpolated_within_its_bucket(share, expected):
    bounds = [(0.1, 50.0), (0.5, 90.0), (float("inf"), 100.0)]
    assert quantile(share, bounds) == pytest.approx(expected)


def test_the_quantile_of_nothing_is_zero():
    assert quantile(0.5, [(0.1, 0.0), (float("inf"), 0.0)]) == 0.0
