"""FlyteAdmin's HTTP paths where they differ from ours: addresses, texts, redirects, what is not answered."""

from __future__ import annotations

from typing import Any

import pytest
from flyteidl.service import admin_pb2
from google.protobuf.descriptor import FieldDescriptor
from google.rpc.status_pb2 import Status

from overrides.flyte import json_reading
from overrides.flyte.bindings import ALL, COLLECTIONS
from overrides.flyte.calls import BINDINGS
from overrides.flyte.errors import FlyteError
from overrides.flyte.queries import clean_path, path_of
from overrides.models import Override
from tests.support.api_client import make_project, token_for
from tests.support.flyte_messages import PROTOBUF, SNAKE, FlyteHttp

PD = "project_domain_attributes/flytesnacks/development"
NUL = "A text has a NUL character (U+0000), which cannot be stored. Remove it."


@pytest.fixture
def flyte_http(db) -> FlyteHttp:
    make_project()
    return FlyteHttp(token_for("admin"))


def label(value: str) -> dict[str, Any]:
    return {"attributes": {"matching_attributes": {"execution_cluster_label": {"value": value}}}}


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("PUT", PD, label("a\x00b")),
        ("PUT", f"{PD}%00", label("x")),
        ("PUT", "workflow_attributes/flytesnacks/development/%00", label("x")),
        ("GET", "workflow_attributes/flytesnacks/development/%00?resource_type=3", b""),
        ("DELETE", "project_attributes/%00", {"resource_type": 3}),
        ("GET", "projects/%00", b""),
        ("GET", "projects?filters=eq(name,%00)", b""),
        ("POST", "projects", {"project": {"id": "p", "name": "a\x00"}}),
        ("POST", "projects", {"project": {"id": "p", "name": "a", "labels": {"values": {"k\x00": "v"}}}}),
        ("PUT", "projects/flytesnacks", {"description": "\x00"}),
        ("PUT", PD, {"attributes": {"matchingAttributes": {"executionQueueAttributes": {"tags": ["\x00"]}}}}),
    ],
)
def test_a_nul_is_an_invalid_argument_wherever_it_stands(flyte_http, method, path, body):
    answer = flyte_http(method, path, body)

    assert (answer.status_code, answer.json()) == (400, {"code": 3, "message": NUL, "details": []})
    assert not Override.objects.exists()


@pytest.mark.parametrize("text", [b'"\\ud800"', b'"x\\udc00y"', b'"\xed\xa0\x80"', b'"\xff"'])
@pytest.mark.parametrize("sends", ["", SNAKE])
def test_half_of_a_surrogate_pair_is_an_invalid_argument(flyte_http, text, sends):
    body = b'{"attributes":{"matchingAttributes":{"executionClusterLabel":{"value":%s}}}}' % text

    answer = flyte_http.put(PD, body, sends=sends)

    assert (answer.status_code, answer.json()["code"]) == (400, 3)
    assert answer.json()["message"].startswith("proto: syntax error (line 1:71): invalid ")


def test_a_path_that_is_no_utf8_is_an_invalid_argument():
    with pytest.raises(FlyteError, match="not UTF-8"):
        path_of(b"/api/v1/projects/\xed\xa0\x80")
    assert path_of("/é".encode()) == "/é"


def test_other_texts_of_unicode_come_back_as_they_were(flyte_http):
    flyte_http.put(PD, label("é 中 \U0001f600 ￿"))
    flyte_http.put("workflow_attributes/flytesnacks/development/%E4%B8%AD", label("x"))

    assert "é 中 \U0001f600 ￿" in flyte_http.get(f"{PD}?resource_type=3").content.decode()
    response = flyte_http.get("workflow_attributes/flytesnacks/development/%E4%B8%AD?resource_type=3")
    assert response.json()["attributes"]["workflow"] == "中"


@pytest.mark.parametrize(
    ("path", "location"),
    [
        ("projects//x?y=1", "/api/v1/projects/x?y=1"),
        ("/projects", "/api/v1/projects"),
        ("projects/../domains", "/api/v1/domains"),
        ("projects/./x/", "/api/v1/projects/x/"),
        ("projects//%20é%3F", "/api/v1/projects/%20%C3%A9%3F"),
    ],
)
def test_a_path_with_empty_segments_is_redirected_with_its_method(flyte_http, path, location):
    for method in ("GET", "PUT"):
        answer = flyte_http(method, path)
        assert (answer.status_code, answer["Location"]) == (307, location)


def test_a_redirect_never_leads_to_another_server():
    assert clean_path("//evil.example//api") == "/evil.example/api"
    assert clean_path("/../..") == "/"


@pytest.mark.parametrize(
    "path", ["executions/p/d", "tasks/p/d/n/v", "named_entities/x/p/d", "data/executions/p/d/n"]
)
def test_calls_that_are_not_answered_here_are_unimplemented(flyte_http, path):
    answer = flyte_http.get(path)

    assert (answer.status_code, answer.json()["code"]) == (501, 12)
    assert "for service flyteidl.service.AdminService" in answer.json()["message"]
    assert flyte_http("POST", "events/workflows").status_code == 501


@pytest.mark.parametrize("path", ["executions/x", "events/nope", "domains/x", "version/", "metrics/x"])
def test_unknown_paths_below_flytes_collections_are_not_found_in_the_callers_format(flyte_http, path):
    assert flyte_http.get(path).json() == {"code": 5, "message": "Not Found", "details": []}
    protobuf = flyte_http.get(path, accepts=PROTOBUF)
    assert (protobuf.status_code, Status.FromString(protobuf.content).code) == (404, 5)


def test_paths_of_our_own_stay_our_own(flyte_http, api):
    assert set(COLLECTIONS) >= {"events", "metrics", "projects"}
    assert "items" in api.get("events").json()
    assert api.get("overrides/nope").json()["code"] != 5
    assert api.get("nope")["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "PUT", "DELETE"])
def test_the_health_check_takes_any_method(client, method):
    answer = client.generic(method, "/healthcheck")

    assert (answer.status_code, answer.content) == (200, b"")


@pytest.mark.parametrize(
    ("body", "sends", "left"),
    [
        (b'{"resource_type": 2.5}', "", 1),
        (b'{"resource_type": "2"}', SNAKE, 1),
        (b'{"resource_type": 3, "resourceType": 3}', "", 1),
        (b'{"resource_type": 3.0}', SNAKE, 0),
        # The lenient marshaler drops names that it does not know, so this deletes task resources.
        (b'{"resource_type": "3"}', "", 1),
    ],
)
def test_a_deletion_reads_the_type_as_protojson_does(flyte_http, body, sends, left):
    flyte_http.put(PD, label("x"))

    flyte_http.delete(PD, body, sends=sends)

    assert Override.objects.count() == left


def test_the_reader_knows_every_kind_of_field_that_a_request_has():
    kinds_known = {*json_reading._KINDS, FieldDescriptor.TYPE_MESSAGE}
    full_names: set[str] = set()

    def check(kind: Any) -> None:
        if kind.full_name in full_names or kind.full_name.startswith("google.protobuf."):
            return
        full_names.add(kind.full_name)
        for field in kind.fields:
            assert field.type in kinds_known, field.full_name
            if field.message_type is not None:
                check(field.message_type)

    for binding in BINDINGS:
        check(binding.request.DESCRIPTOR)
    assert len(ALL) > len(admin_pb2.DESCRIPTOR.services_by_name["AdminService"].methods)
