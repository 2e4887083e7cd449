"""Bad input gets a clear problem document, and changes nothing."""

import json
import re

import pytest

from controlplane.access.models import AuditRecord, Token
from controlplane.events.models import Event
from overrides.models import Override
from tests.support.api_client import Api, make_project, token_for

PATH = "overrides/task_resource"
METADATA = "http://localhost:8000/.well-known/oauth-protected-resource"
GOOD = {"attributes": {"defaults": {"cpu": "1"}}}
DEEP = b'{"attributes":' + b'{"a":' * 100 + b"1" + b"}" * 101


@pytest.fixture(autouse=True)
def _project(db):
    make_project()


@pytest.fixture
def nothing_changes(api):
    """The database holds the same after the test as before it."""

    def rows():
        return (Override.objects.count(), Event.objects.count(), AuditRecord.objects.count())

    before = rows()
    yield
    assert rows() == before


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        (b'{"attributes": ', 400, "malformed_body"),
        (b'{"attributes": {}, "attributes": {}}', 400, "malformed_body"),
        (b'{"attributes": {"a": "\\u0000"}}', 400, "malformed_body"),
        (b'{"attributes": {"a": NaN}}', 400, "malformed_body"),
        (b'{"attributes": {"a": "\xff"}}', 400, "malformed_body"),
        (DEEP, 400, "malformed_body"),
        (b'{"attributes": {"a": "' + b"x" * 2 * 1024 * 1024 + b'"}}', 413, "body_too_large"),
        (b"[]", 400, "invalid_request"),
        (b"null", 400, "invalid_request"),
        (b"{}", 400, "invalid_request"),
        (b'{"attributes": []}', 400, "invalid_request"),
        (b'{"attributes": {}, "version": 9}', 400, "invalid_request"),
        (b'{"attributes": {"surprise": 1}}', 422, "invalid_attributes"),
    ],
)
def test_a_bad_body_is_refused_with_its_reason(api, body, status, code):
    answer = api.put(PATH, body, X_Request_ID="me-1")

    problem = answer.json()
    assert (answer.status_code, problem["code"], problem["status"]) == (status, code, status)
    assert answer["Content-Type"] == "application/problem+json"
    assert (problem["request_id"], answer["X-Request-ID"]) == ("me-1", "me-1")
    assert problem["detail"]


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize(
    ("query", "status", "code", "pointer"),
    [
        ("workflow=w", 422, "invalid_scope", "?domain"),
        ("domain=staging&workflow=w", 422, "invalid_scope", "?project"),
        ("project=flytesnacks&domain=staging&launch_plan=l", 422, "invalid_scope", "?workflow"),
        ("project=flytesnack", 404, "unknown_project", None),
        ("domain=stagin", 404, "unknown_domain", None),
        ("projct=flytesnacks", 400, "invalid_request", "?projct"),
        ("project=a&project=b", 400, "invalid_request", "?project"),
        ("dry_run=perhaps", 400, "invalid_request", "?dry_run"),
        ("project=%00", 400, "invalid_request", "?project"),
        ("project=" + "x" * 300, 400, "invalid_request", "?project"),
    ],
)
def test_a_bad_query_is_refused_and_the_mistake_is_named(api, query, status, code, pointer):
    answer = api.put(f"{PATH}?{query}", GOOD)

    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code)
    assert pointer is None or problem["errors"][0]["pointer"] == pointer


def test_a_misspelt_name_gets_the_nearest_right_one(api):
    assert "Did you mean 'project'?" in api.get("overrides?projct=a").json()["detail"]
    assert "Did you mean 'flytesnacks'?" in api.get("overrides/effective?project=flytesnack").json()["detail"]
    assert "Did you mean 'task_resource'?" in api.get("overrides/task_resources").json()["detail"]


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "text/yaml"])
def test_a_body_that_is_not_json_gets_415_and_the_header_to_send(api, content_type):
    answer = api.put(PATH, b"a=1", Content_Type=content_type)

    assert answer.status_code == 415
    assert "Content-Type: application/json" in answer.json()["detail"]


@pytest.mark.parametrize("accept", ["text/html", "application/xml", "x/y;q=2", ""])
def test_an_answer_is_json_whatever_accept_says(api, accept):
    assert api.get("me", Accept=accept)["Content-Type"] == "application/json"


@pytest.mark.usefixtures("nothing_changes")
@pytest.mark.parametrize("header", ["v1", '"v1', '"v1" "v2"', "", "W/"])
def test_a_malformed_if_match_is_refused(api, header):
    answer = api.put(PATH, GOOD, If_Match=header)

    assert (answer.status_code, answer.json()["errors"][0]["pointer"]) == (400, "header:If-Match")


@pytest.mark.parametrize("token", ["", "x", "Bearer", "cp_pat_" + "a" * 49])
def test_a_wrong_token_is_401_and_never_echoed(db, token):
    answer = Api(token or " ").get("me")

    assert (answer.status_code, answer.json()["code"]) == (401, "not_authenticated")
    assert answer["WWW-Authenticate"] == f'Bearer resource_metadata="{METADATA}", error="invalid_token"'
    assert len(token) < 10 or token not in answer.content.decode()


def test_no_token_is_401(db):
    assert Api().get("me").status_code == 401


@pytest.mark.parametrize(("column", "words"), [("expires_at", "expired"), ("revoked_at", "revoked")])
def test_an_expired_or_revoked_token_is_401_and_says_which(db, column, words):
    secret = token_for("admin")
    Token.objects.update(**{column: "2020-01-01T00:00:00Z"})

    answer = Api(secret).get("me")

    assert answer.status_code == 401
    assert words in answer.json()["detail"]


def changes():
    """The audit records of changes: refused requests are recorded too."""
    return AuditRecord.objects.exclude(action="access.denied")


def test_a_viewer_who_writes_is_told_which_role_is_needed(db):
    viewer = Api(token_for("viewer"))
    before = changes().count()

    answers = [
        viewer.put(PATH, GOOD),
        viewer.patch(PATH, GOOD),
        viewer.delete(PATH),
        viewer.post("scopes/projects", {"id": "x"}),
        viewer.post("agents", {}),
        viewer.post("principals", {"name": "x", "kind": "service"}),
    ]

    assert {answer.status_code for answer in answers} == {403}
    assert "editor, admin" in answers[0].json()["detail"]
    assert changes().count() == before


def test_a_wrong_method_is_405_and_an_unknown_path_404_as_problems(api):
    wrong, unknown = api.post("overrides/task_resource", {}), api.get("nothing/here")

    assert (wrong.status_code, wrong.json()["code"]) == (405, "method_not_allowed")
    assert (unknown.status_code, unknown.json()["code"]) == (404, "not_found")


def test_a_trailing_slash_is_sent_to_the_form_without_and_never_elsewhere(api):
    assert api.get("/api/v1/me/")["Location"] == "/api/v1/me"
    assert api.get("/api/v1/overrides/?limit=1")["Location"] == "/api/v1/overrides?limit=1"
    assert api.get("/api/v1/me/").status_code == 308


def test_no_answer_of_the_api_is_kept_by_caches(api):
    assert api.get("me")["Cache-Control"] == "no-store"
    assert json.loads(api.get("me").content)["name"]


@pytest.mark.parametrize(
    ("path", "body"),
    [
        ("role-bindings", {"principal": True, "role": {"a": None}, "scope": [False]}),
        ("me:can-i", {"action": True, "scope": "x"}),
        ("overrides/effective:batch", {"scopes": [True, {"domain": None}], "resource_types": {"a": True}}),
        ("agents", {"name": None, "service_types": {"a": True}, "cost": True, "labels": [None]}),
        ("overrides:rollback", [True]),
        ("resource-types", {"name": True, "strategy": None, "schema": [False], "levels": [{"a": None}]}),
        ("guard-rails/x", {"name": "x", "rule": {"lock_below": True, "allowed": None}, "scope": [None]}),
    ],
)
def test_no_message_shows_words_of_python(api, path, body):
    answer = api("PUT" if path.startswith("guard-rails") else "POST", path, body)

    text = answer.content.decode()
    assert answer.status_code in {400, 422}, text
    assert not re.search(r"\b(True|False|None|NoneType|dict|str|int|bool)\b", text), text
