"""Restoring a deleted override: once, as it was, and only if it is deleted."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connections

from controlplane.access.models import AuditRecord
from controlplane.identity.roles import Role
from overrides.models import Override
from tests.support.api_client import Api, logged_in, make_project, token_for

HERE = "project=ads&domain=production"
PATH = "overrides/workflow_execution_config"
UNDELETE = f"{PATH}:undelete?{HERE}"
BODY = {"attributes": {"max_parallelism": 3}}


@pytest.fixture
def api(db: None) -> Api:
    make_project("ads")
    return Api(token_for("admin"))


@pytest.fixture
def deleted(api: Api) -> Api:
    assert api.put(f"{PATH}?{HERE}", {"attributes": {"max_parallelism": 1}}).status_code == 201
    assert api.put(f"{PATH}?{HERE}", BODY, If_Match='"v1"').status_code == 200
    assert api.delete(f"{PATH}?{HERE}", If_Match='"v2"').status_code == 204
    return api


def attributes() -> list[Any]:
    return [row.attributes for row in Override.objects.all() if row.attributes is not None]


def test_a_deleted_override_is_restored_with_who_and_why(deleted: Api) -> None:
    plan = deleted.post(f"{UNDELETE}&dry_run=true")
    assert (plan.status_code, attributes()) == (200, [])

    answer = deleted.post(f"{UNDELETE}&change_message=Oops.&ticket=T-1")

    assert answer.status_code == 200
    assert deleted.get(f"{PATH}?{HERE}").json()["version"] == 4
    assert attributes() == [BODY["attributes"]]
    newest = deleted.get(f"{PATH}/versions?{HERE}").json()["items"][0]
    assert (newest["change_message"], newest["ticket"]) == ("Oops.", "T-1")
    assert AuditRecord.objects.filter(reason="Oops.").count() == 1


def test_what_is_not_deleted_is_left_alone(api: Api) -> None:
    never = api.post(UNDELETE)
    assert (never.status_code, never.json()["code"]) == (404, "unknown_override")
    api.put(f"{PATH}?{HERE}", BODY)

    present = api.post(UNDELETE)

    assert (present.status_code, "version 1 applies" in present.json()["detail"]) == (409, True)
    assert api.post(f"overrides/nothing:undelete?{HERE}").status_code == 404
    assert api.post(f"{PATH}:undelete?project=nope").status_code == 404
    viewer = Api(token_for("viewer"))
    assert viewer.post(UNDELETE).status_code == 403


def test_a_version_that_is_named_must_be_the_present_one(deleted: Api) -> None:
    assert deleted.post(UNDELETE, None, If_Match='"v1"').status_code == 412
    assert attributes() == []


def test_the_console_offers_it(deleted: Api) -> None:
    browser = logged_in("jane", Role.ADMIN)
    page = browser.get(f"/{PATH}/history?{HERE}").content.decode()
    assert 'form="back-2" name="do" value="preview">Restore override' in page

    browser.post(f"/{PATH}/history?{HERE}", {"to_version": "2", "do": "save"})

    assert attributes() == [BODY["attributes"]]
    assert "Restore override" not in browser.get(f"/{PATH}/history?{HERE}").content.decode()


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_restores() -> None:
    make_project("ads")
    api = Api(token_for("admin"))
    api.put(f"{PATH}?{HERE}", BODY)
    api.delete(f"{PATH}?{HERE}", If_Match='"v1"')

    def restore(_: int) -> int:
        try:
            return int(Api(api.token).post(UNDELETE).status_code)
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as pool:
        statuses = sorted(pool.map(restore, range(6)))

    assert statuses == [200, 409, 409, 409, 409, 409]
    assert attributes() == [BODY["attributes"]]
