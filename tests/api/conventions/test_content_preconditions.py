"""`If-Match` on objects without versions: their ETag is a digest of what was read."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from controlplane.access.models import AuditRecord, Principal
from tests.support.api_client import AGENT, Api, make_principal, token_for

OTHER = '"c00000000000000000000"'


@pytest.fixture
def path(db: None) -> str:
    make_principal(name="bot")
    return "principals/bot"


def test_a_change_of_what_was_read_is_made(api: Api, path: str) -> None:
    etag = api.get(path)["ETag"]
    assert api.patch(f"{path}?dry_run=true", {"is_active": False}, If_Match=etag).status_code == 200
    assert api.patch(path, {"is_active": False}, If_Match=f"{OTHER}, {etag}").status_code == 200
    assert not Principal.objects.get(name="bot").is_active


@pytest.mark.parametrize("etag", [OTHER, '"v1"', "weak"])
def test_a_change_of_something_else_is_refused_and_nothing_changes(api: Api, path: str, etag: str) -> None:
    current = api.get(path)["ETag"]
    refused = api.patch(path, {"is_active": False}, If_Match=f"W/{current}" if etag == "weak" else etag)
    assert (refused.status_code, refused.json()["code"]) == (412, "version_mismatch")
    assert refused.json()["current"] == current.strip('"')
    assert Principal.objects.get(name="bot").is_active
    assert not AuditRecord.objects.filter(object_type="principal", action="principal.disabled").exists()


def test_a_deletion_of_something_else_is_refused(api: Api) -> None:
    agent = f"agents/{api.post('agents', AGENT).json()['agent_id']}"
    resource = f"resources/{api.post('resources', {'service_type': 'vm', 'spec': {}}).json()['id']}"
    for path in (resource, agent):
        refused = api.delete(path, If_Match=OTHER)
        assert (path, refused.status_code) == (path, 412)
        assert api.delete(f"{path}?force=true", If_Match=api.get(path)["ETag"]).status_code in (202, 204)


def test_a_malformed_header_is_named(api: Api, path: str) -> None:
    refused = api.patch(path, {"is_active": False}, If_Match="c1")
    assert (refused.status_code, refused.json()["errors"][0]["pointer"]) == (400, "header:If-Match")


@pytest.mark.django_db(transaction=True)
def test_of_two_changes_of_one_content_at_once_one_is_refused() -> None:
    make_principal(name="bot")
    token = token_for("admin")
    etag = Api(token).get("principals/bot")["ETag"]
    begin = threading.Barrier(2)

    def change(is_active: bool) -> int:
        begin.wait()
        answer = Api(token).patch("principals/bot", {"is_active": is_active}, If_Match=etag)
        connection.close()
        return int(answer.status_code)

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(change, [False, False])) == [200, 412]
