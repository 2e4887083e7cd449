"""Versions of projects: two people who change one do not overwrite each other unseen."""

from __future__ import annotations

import pytest

from controlplane.access.models import AuditRecord
from tests.support.api_client import Api, token_for

pytestmark = pytest.mark.django_db
ADS = "scopes/projects/ads"


@pytest.fixture
def api() -> Api:
    api = Api(token_for("admin"))
    assert api.post("scopes/projects", {"id": "ads"})["ETag"] == '"v1"'
    return api


def test_each_change_has_a_version(api: Api) -> None:
    changed = api.patch(ADS, {"name": "Ads"}, If_Match='"v1"')
    same = api.patch(ADS, {"name": "Ads"}, If_Match='"v2"')
    read = api.get(ADS)

    assert (changed.status_code, changed["ETag"], changed.json()["version"]) == (200, '"v2"', 2)
    # Without a difference, nothing is written.
    assert (same["ETag"], read["ETag"], read.json()["version"]) == ('"v2"', '"v2"', 2)
    assert api.get(ADS, If_None_Match='"v2"').status_code == 304
    assert api.get(ADS, If_None_Match='"v1"').status_code == 200


@pytest.mark.parametrize(
    ("headers", "status", "code"),
    [
        ({"If_Match": '"v7"'}, 412, "version_mismatch"),
        ({"If_Match": 'W/"v1"'}, 412, "version_mismatch"),
        ({"If_Match": "v1"}, 400, "invalid_request"),
        ({"If_None_Match": "*"}, 412, "version_mismatch"),
    ],
)
def test_a_change_of_another_version_is_refused(
    api: Api, headers: dict[str, str], status: int, code: str
) -> None:
    before = AuditRecord.objects.count()

    refused = api.patch(ADS, {"name": "Lost"}, **headers)

    assert (refused.status_code, refused.json()["code"]) == (status, code)
    assert (api.get(ADS).json()["name"], AuditRecord.objects.count()) == ("ads", before)


def test_a_change_without_a_version_applies_as_before(api: Api) -> None:
    assert api.patch(ADS, {"name": "First"}).json()["version"] == 2
    assert api.patch(ADS, {"name": "Second"}, If_Match="*").json()["version"] == 3
