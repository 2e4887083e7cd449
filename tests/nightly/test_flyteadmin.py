"""The same calls to a FlyteAdmin and to us get the same answers. `FLYTEADMIN_URL` names the FlyteAdmin.

It must be version 1.16.8 with its default configuration and without authentication, such as
`FLYTEADMIN_URL=http://127.0.0.1:8088 make nightly LANE=flyteadmin`. The lane registers projects of its own
there, with names that no other run uses, and leaves them. What differs on purpose is in ADR 0017.
"""

from __future__ import annotations

import http.client
import json
import os
import random
import secrets
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from flyteidl.admin.project_attributes_pb2 import ProjectAttributesGetResponse
from flyteidl.admin.project_domain_attributes_pb2 import ProjectDomainAttributesGetResponse
from flyteidl.admin.workflow_attributes_pb2 import WorkflowAttributesGetResponse
from google.protobuf import json_format
from google.rpc.status_pb2 import Status

from tests.nightly.flyteadmin_calls import LEVELS, NUMBERS, PROTOBUF, Call, edges, story
from tests.support.api_client import token_for

URL = os.environ.get("FLYTEADMIN_URL", "")
pytestmark = pytest.mark.skipif(
    not URL,
    reason="FLYTEADMIN_URL is not set: name a FlyteAdmin 1.16.8, such as http://127.0.0.1:8088.",
)
SEED = 20_261_122
STORIES, LENGTH = 12, 150
# Where FlyteAdmin's database refuses, it answers 500, and we say what is wrong with the request.
REFUSED_BY_ITS_DATABASE = (
    *(
        "projects?filters=eq(name,a%3Bb)",
        "projects?filters=eq(state,x)",
        "projects?filters=contains(state,0)",
    ),
    *("projects?filters=gt(created_at,x)", "projects?filters=eq(name,%00)", "projects?filters=%ff"),
    *("projects/%00", "projects/%ff", "projects/%ED%A0%80", "workflow_attributes/{p}/development/%ff"),
)
_ANSWERS: dict[str, Any] = {
    "project_attributes": ProjectAttributesGetResponse,
    "project_domain_attributes": ProjectDomainAttributesGetResponse,
    "workflow_attributes": WorkflowAttributesGetResponse,
}
Answer = tuple[int, str, str | None, Any]


class Peer:
    """One of the two servers, over one connection."""

    def __init__(self, url: str, **headers: str) -> None:
        address = urlsplit(url)
        self._connection = http.client.HTTPConnection(address.hostname or "", address.port or 80, timeout=30)
        self._headers = headers

    def __call__(self, call: Call) -> Answer:
        headers = {**self._headers, **call.headers}
        # A GET without it is answered by the fast path.
        if call.body or call.method != "GET":
            headers["Content-Length"] = str(len(call.body))
        self._connection.putrequest(call.method, call.path, skip_accept_encoding=True)
        for name, value in headers.items():
            self._connection.putheader(name, value)
        self._connection.endheaders(call.body or None)
        answer = self._connection.getresponse()
        content = answer.read()
        # Go's own answers outside the gateway, such as redirects, have bodies for people.
        if answer.status in (307, 308):
            return answer.status, "", answer.getheader("Location"), None
        kind = answer.getheader("Content-Type", "")
        if kind == PROTOBUF and content:
            content = _as_json(call.path if answer.status == 200 else "", content)
        return answer.status, kind, None, _comparable(json.loads(content or b"null"))


def _as_json(path: str, content: bytes) -> bytes:
    """Bytes of protobuf say the same in more than one order."""
    message = next((made for part, made in _ANSWERS.items() if f"/{part}/" in path), Status)()
    message.ParseFromString(content)
    return json_format.MessageToJson(message).encode()


def _comparable(document: Any) -> Any:
    """Without what is random at FlyteAdmin: the order of merged plugin overrides, a space in messages."""
    if isinstance(document, dict):
        members = {name: _comparable(member) for name, member in document.items()}
        if isinstance(members.get("message"), str):
            members["message"] = members["message"].replace("\u00a0", " ")
        if isinstance(members.get("overrides"), list):
            members["overrides"].sort(key=json.dumps)
        return members
    return [_comparable(item) for item in document] if isinstance(document, list) else document


@pytest.fixture
def ours(live) -> Peer:
    return Peer(live.url, Authorization=f"Bearer {token_for('admin')}")


@pytest.fixture
def theirs() -> Peer:
    return Peer(URL)


@pytest.fixture
def project(ours, theirs) -> str:
    name = f"cp-{secrets.token_hex(5)}"
    register = Call("POST", "projects", b'{"project":{"id":"{p}","name":"{p}"}}').of(name)
    assert theirs(register)[0] == ours(register)[0] == 200
    return name


def compare(calls: Iterator[Call], project: str, ours: Peer, theirs: Peer) -> tuple[int, list[str]]:
    """How many calls were played, and what differs."""
    different = []
    played = [call.of(project) for call in calls]
    for call in played:
        expected, actual = theirs(call), ours(call)
        if expected != actual:
            request_line = f"{call.method} {call.path} {call.headers} {call.body[:160]!r}"
            different.append(f"{request_line}\n  FlyteAdmin: {expected}\n  ours:       {actual}")
    return len(played), different


def test_the_edges_of_the_formats(ours, theirs, project):
    count, different = compare(edges(), project, ours, theirs)

    assert not different, f"{len(different)} of {count} calls differ:\n" + "\n".join(different[:20])
    assert count > 300


@pytest.mark.parametrize("number", range(STORIES))
def test_random_writes_deletions_and_reads(ours, theirs, project, number):
    calls = story(random.Random(SEED + number), LENGTH)
    count, different = compare(calls, project, ours, theirs)

    assert not different, f"{len(different)} of {count} calls differ:\n" + "\n".join(different[:10])
    # The lists are of all projects, so each server's is compared by its rows of this one.
    for kind in NUMBERS.values():
        listed = Call("GET", f"matchable_attributes?resource_type={kind}").of(project)
        rows = [
            sorted(
                map(
                    json.dumps,
                    (row for row in peer(listed)[3]["configurations"] if row["project"] == project),
                )
            )
            for peer in (theirs, ours)
        ]
        assert rows[0] == rows[1]


def rows_of(project: str, answer: Answer) -> list[str]:
    return sorted(json.dumps(row) for row in answer[3]["configurations"] if row["project"] == project)


def test_what_its_database_refuses_we_call_invalid(ours, theirs, project):
    for path in REFUSED_BY_ITS_DATABASE:
        call = Call("GET", path).of(project)
        assert theirs(call)[0] == 500, path
        assert (ours(call)[0], ours(call)[3]["code"]) == (400, 3), path


def test_its_known_defects_are_still_there_and_not_ours(ours, theirs, project):
    """If one of these is mended upstream, ADR 0017 wants a look."""
    plugins = b'{"attributes":{"matchingAttributes":{"pluginOverrides":{"overrides":[{"taskType":"a"}]}}}}'
    of_project = Call("PUT", LEVELS[0], plugins).of(project)
    assert (theirs(of_project)[0], ours(of_project)[0]) == (500, 200)

    label = b'{"attributes":{"matchingAttributes":{"executionClusterLabel":{"value":"x"}}}}'
    for peer in (theirs, ours):
        for level in LEVELS[1:]:
            assert peer(Call("PUT", level, label).of(project))[0] == 200
        assert peer(Call("DELETE", LEVELS[1], b'{"resource_type":3}').of(project))[0] == 200
    cascaded = Call("GET", f"{LEVELS[2]}?resource_type=3").of(project)
    assert (theirs(cascaded)[0], ours(cascaded)[0]) == (404, 200)

    empty = Call("GET", "projects?filters=eq(identifier,{q})").of(project)
    assert (theirs(empty)[3]["token"], ours(empty)[3]["token"]) == ("0", "")
