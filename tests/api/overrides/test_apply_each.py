"""Apply with `atomic=false`: each document for itself, with the result of each."""

from __future__ import annotations

from typing import Any

import pytest

from controlplane.access.models import AuditRecord
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.models import Override, Project
from tests.support.api_client import Api, make_project, token_for

APPLY = "overrides:apply?atomic=false&managed_by=git"


def document(project: str, parallelism: Any) -> dict[str, Any]:
    return {
        "kind": "overrides",
        "project": project,
        "spec": {"workflowExecutionConfig": {"maxParallelism": parallelism}},
    }


@pytest.fixture
def api(db: None) -> Api:
    make_project("ads")
    return Api(token_for("admin"))


def results(api: Api, *documents: Any, query: str = "", status: int = 207) -> Any:
    answer = api.post(f"{APPLY}{query}", {"documents": list(documents)})
    assert answer.status_code == status, answer.content
    return answer.json()


def test_a_refused_document_stops_no_other(api: Api) -> None:
    body = results(api, document("ads", 3), document("nope", 4), document("ads", "many"))

    assert (body["applied"], body["refused"]) == (1, 2)
    first, unknown, wrong = body["items"]
    assert (first["pointer"], first["status"], first["problem"]) == ("/documents/0", 200, None)
    assert first["plan"]["summary"]["created"] == 1
    assert (unknown["plan"], unknown["problem"]["code"]) == (None, "unknown_project")
    assert wrong["problem"]["errors"][0]["pointer"].startswith("/documents/2/")
    assert Override.objects.get().attributes == {"max_parallelism": 3}
    assert AuditRecord.objects.filter(action="override.created").count() == 1


def test_projects_come_before_their_overrides_and_results_in_the_order_sent(api: Api) -> None:
    project = {"kind": "project", "id": "new", "name": "New"}
    body = results(api, document("new", 2), project)
    assert [(item["pointer"], item["status"]) for item in body["items"]] == [
        ("/documents/0", 200),
        ("/documents/1", 200),
    ]
    assert Project.objects.filter(id="new").exists()


def test_a_dry_run_keeps_nothing(api: Api) -> None:
    body = results(api, document("ads", 3), document("nope", 4), query="&dry_run=true")
    assert (body["applied"], body["refused"]) == (1, 1)
    assert not Override.objects.exists()


def test_rights_are_those_of_each_document(api: Api) -> None:
    make_project("pay")
    editor = Api(token_for(Role.EDITOR, scope=Scope(project="ads")))
    body = results(editor, document("pay", 4), document("ads", 3))
    assert [item["status"] for item in body["items"]] == [403, 200]
    assert Override.objects.get().project == "ads"


def test_a_repeated_key_gives_the_same_results_and_applies_nothing_again(api: Api) -> None:
    sent = {"documents": [document("ads", 3), document("nope", 4)]}
    first = api.post(APPLY, sent, Idempotency_Key="k1")
    again = api.post(APPLY, sent, Idempotency_Key="k1")
    assert (again.status_code, again.json()) == (207, first.json())
    assert Override.objects.get().version == 1


@pytest.mark.parametrize(("query", "pointer"), [("&prune=true", "?atomic"), ("", "/documents")])
def test_what_cannot_be_done_for_each_is_refused(api: Api, query: str, pointer: str) -> None:
    documents = [document("ads", 1)] * (1 if query else 1001)
    body = results(api, *documents, query=query, status=400)
    assert [error["pointer"] for error in body["errors"]] == [pointer]
    assert not Override.objects.exists()
