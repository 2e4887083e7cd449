"""GET /api/v1/meta: the state of the installation, for those who may read metrics."""

from __future__ import annotations

import pytest

from controlplane import __version__
from controlplane.identity.roles import Role
from controlplane.messaging.models import StreamRecord
from controlplane.scopes import Scope
from tests.support.api_client import Api, make_project, token_for

pytestmark = pytest.mark.django_db


def test_version_schema_and_checks_are_shown():
    body = Api(token_for(Role.VIEWER)).get("meta").json()
    assert (body["version"], body["is_good"]) == (__version__, True)
    assert body["schema"]["registry"].startswith("00")
    assert {"CpSweepStale", "CpOutboxOld"} <= {check["name"] for check in body["checks"]}
    assert all(check["value"] is None for check in body["checks"])


def test_limits_and_optional_features_are_told_as_they_are_set(settings):
    settings.MAX_BODY_BYTES, settings.SCIM, settings.OVERRIDES_SOURCE = 2048, True, "db"
    body = Api(token_for(Role.VIEWER)).get("meta").json()

    assert (body["limits"]["body_bytes"], body["limits"]["page_items"]) == (2048, 200)
    assert (body["features"]["scim"], body["features"]["overrides_from_files"]) == (True, False)
    settings.SCIM = False
    assert Api(token_for(Role.VIEWER)).get("meta").json()["features"]["scim"] is False


def test_what_is_beyond_its_limit_is_named_with_its_runbook():
    StreamRecord.objects.create(name="DISPATCH", difference="max_age")
    body = Api(token_for(Role.VIEWER)).get("meta").json()
    (failed,) = [check for check in body["checks"] if not check["is_good"]]
    assert body["is_good"] is False
    assert (failed["name"], failed["about"], failed["value"]) == ("CpJetStreamDiffers", "DISPATCH", 1)
    assert failed["runbook"] == "docs/operations.md#cpjetstreamdiffers"


def test_others_see_nothing_and_a_parameter_is_refused():
    make_project("shop")
    assert Api().get("meta").status_code == 401
    assert Api(token_for(Role.VIEWER, scope=Scope(project="shop"))).get("meta").status_code == 403
    assert Api(token_for(Role.VIEWER)).get("meta?x=1").status_code == 400
