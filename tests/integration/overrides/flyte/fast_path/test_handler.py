"""The fast path of reads by Flyte's clients, in one process: the gateway's answers, never stale."""

from __future__ import annotations

import random
import time

import pytest
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from prometheus_client import REGISTRY

from controlplane.access.models import RoleBinding, Token
from controlplane.asgi import Router
from controlplane.scopes import Scope
from overrides.models import Project, ProjectState
from overrides.projects import ProjectFields, create_domain, update_project
from tests.support.api_client import ACTOR, Api, make_project, token_for
from tests.support.asgi_client import Worker, close_connections

SNAKE, CAMEL, PROTOBUF = "application/json", "*/*", "application/octet-stream"
PD = "project_domain_attributes/flytesnacks/development"
WORKFLOW = "workflow_attributes/flytesnacks/development/core.hello_world"
PROJECT = "project_attributes/flytesnacks"
READ = f"{PD}?resource_type=TASK_RESOURCE"
KINDS = (*("task_resource", "cluster_resource", "execution_queue", "execution_cluster_label"),)


class Web:
    """A web worker of our own, with a count of what was left to Django."""

    def __init__(self) -> None:
        self.worker = Worker(Router)
        self.router = self.worker.application
        self.left = 0
        django = self.router.flyte._django

        async def count(*request):
            self.left += 1
            await django(*request)

        self.router.flyte._django = count

    def read(self, token, path=READ, method="GET", to=None, **headers):
        headers = {"Authorization": f"Bearer {token}", **headers}
        return self.worker.start(method, f"/api/v1/{path}", to=to, **headers).result(15)

    def warm(self, token, path=READ, **headers):
        """Read until it is answered from memory: Django's headers are learned, the answer is cached."""
        for _ in range(2):
            self.read(token, path, **headers)
        return self.read(token, path, **headers)

    def ordinary(self, token, path=READ, **headers):
        return self.read(token, path, to=self.router.bridge, **headers)

    def stop(self) -> None:
        close_connections(self.router.bridge.pool, settings.WEB_THREADS)
        self.worker.run(self.router.effective.close())
        self.worker.run(self.router.bridge.close(5))
        self.worker.stop()


@pytest.fixture
def web(transactional_db):
    make_project()
    make_project("archived")
    update_project("archived", ProjectFields(state=ProjectState.ARCHIVED), actor=ACTOR)
    running = Web()
    yield running
    running.stop()


@pytest.fixture
def token(web):
    return token_for("admin")


@pytest.fixture
def put(token):
    api = Api(token)

    def write(cpu, query="project=flytesnacks&domain=development"):
        path = f"overrides/task_resource?{query}"
        etag = api.get(path).headers.get("ETag", "")
        headers = {"If-Match": etag} if etag else {}
        method, body = ("PUT", {"attributes": {"limits": {"cpu": cpu}}}) if cpu else ("DELETE", None)
        if cpu or etag:
            answer = api(method, path, body, **headers)
            assert answer.status_code in (200, 201, 204), answer.content

    return write


PLAIN = (
    *(READ, PD, f"{PD}?resource_type=0", f"{PD}?resourceType=TASK_RESOURCE&unknown=x"),
    *(f"{WORKFLOW}?resource_type={kind.upper()}" for kind in KINDS),
    *(f"{PROJECT}?resource_type={number}" for number in (0, 7)),
    *(f"{PD}?resource_type=3&org=acme", "project_attributes/archived?resource_type=7"),
    *("projects", "projects?limit=1", "projects?limit=1&token=1", "projects?filters=eq(name,archived)"),
    *("projects?sort_by.key=name&sort_by.direction=ASCENDING", "projects?filters=ne(identifier,a)&limit=9"),
    *("projects/flytesnacks", "projects/archived", "projects/none", "domains", "domains?org=x"),
)
ODD = (
    *("project_domain_attributes/none/development", "project_domain_attributes/flytesnacks/nowhere"),
    *("project_domain_attributes/archived/development", f"{PD}?resource_type=x", f"{PD}?resource_type=99"),
    *(f"{READ}&resource_type=1", f"{PD}?a;b", f"{PD}?resource_type=%zz", f"{PD}?resource_type=%ff"),
    *(f"{PD}/", f"{PD}/a/b/c", "projects/", "projects/.", "projects/../domains", "projects//flytesnacks"),
    *("projects?filters=nonsense", "projects?limit=-1", "projects?token=x", "projects/%66lytesnacks"),
    *("matchable_attributes?resource_type=0", "projects/%00", "domains/a", f"{PD}?resource_type.x=1"),
    *(f"workflow_attributes/flytesnacks/development/{'w' * 300}", f"{PD}?{'x' * 5000}"),
)
HEADERS = (
    # headers, answered from memory
    *(({"Accept": accept}, True) for accept in (SNAKE, CAMEL, PROTOBUF, "text/html", f"{SNAKE};q=1")),
    *(({"Content_Type": kind}, True) for kind in (SNAKE, PROTOBUF, f"{SNAKE}; charset=utf-8", "x")),
    ({"Content_Type": PROTOBUF, "Accept": SNAKE}, True),
    *(({name: '"a"'}, True) for name in ("If_None_Match", "If_Match")),
    ({"If_None_Match": "*"}, False),
    ({"X_HTTP_Method_Override": "DELETE"}, True),
    *(({"Authorization": text}, False) for text in ("", "Basic eDp5", "Bearer cp_pat_nothing", "x")),
    ({"Authorization": "Bearer  {token} "}, True),
    ({"Flyte_Authorization": "Bearer {token}"}, False),
    ({"Cookie": "cp-session=nothing"}, False),
    ({"Origin": "https://console.example.com"}, False),
    ({"Host": "evil.example"}, False),
    ({"Content_Length": "2"}, False),
)


def comparable(answer) -> tuple:
    """Without ids; CSP's directives have no order."""
    headers = [
        (name, sorted(value.split(b"; ")) if name == b"content-security-policy" else value)
        for name, value in answer.headers
        if name != b"x-request-id"
    ]
    request_id = dict(answer.headers)[b"x-request-id"]
    return answer.status, answer.body.replace(request_id, b"id"), sorted(headers, key=str)


def differences(web, token, requests) -> list[str]:
    """Play requests both ways; return those that differ, or are not answered by whom they should be."""
    different = []
    for path, method, headers, is_fast in requests:
        for _ in range(2):
            web.read(token, path, method, **headers)
        left = web.left
        ours = web.read(token, path, method, **headers)
        by_whom = web.left == left
        django = web.ordinary(token, path, method=method, **headers)
        if comparable(ours) != comparable(django) or (is_fast is not None and by_whom is not is_fast):
            different.append(f"{method} {path} {headers}: {comparable(ours)} {comparable(django)} {by_whom}")
    return different


def test_plain_reads_are_answered_from_memory_as_by_the_gateway(web, token, put):
    put("1")
    requests = [
        (path, "GET", {"Accept": accept}, True) for path in PLAIN for accept in (SNAKE, CAMEL, PROTOBUF)
    ]

    found = differences(web, token, requests)
    assert not found, "\n".join(found)
    assert {web.read(token, path).status for path in PLAIN} == {200, 404}


def test_odd_requests_are_left_to_the_gateway(web, token, put):
    put("1")
    # A path that no route of the fast path has never comes to it: there is nothing to count.
    requests = [(path, "GET", {}, False if "attributes/fl" in path else None) for path in ODD]
    requests += [(READ, method, {}, False) for method in ("HEAD", "OPTIONS", "TRACE")]

    found = differences(web, token, requests)
    assert not found, "\n".join(found)
    assert {web.read(token, path).status for path in ODD} >= {400, 404, 307}


def test_headers_choose_the_answer_as_at_the_gateway(web, token, put):
    put("1")
    requests = [
        (READ, "GET", {name: value.format(token=token) for name, value in headers.items()}, is_fast)
        for headers, is_fast in HEADERS
    ]

    found = differences(web, token, requests)
    assert not found, "\n".join(found)


def test_a_change_of_an_override_is_seen_by_the_next_read(web, token, put):
    path = f"{WORKFLOW}?resource_type=TASK_RESOURCE"
    assert web.warm(token, path).status == 404
    for cpu, query in (
        *(("1", "project=flytesnacks"), ("2", "project=flytesnacks&domain=development")),
        *(("3", "project=flytesnacks&domain=development&workflow=core.hello_world"),),
    ):
        put(cpu, query)

        assert f'"cpu":"{cpu}"'.encode() in web.read(token, path).body
    put("", "project=flytesnacks&domain=development&workflow=core.hello_world")

    assert b'"cpu":"2"' in web.read(token, path).body


def test_a_change_of_a_project_or_domain_is_seen_by_the_next_read(web, token, put):
    put("1")
    assert [web.warm(token, path).status for path in (READ, "projects", "projects/new", "domains")] == [
        *(200, 200, 404, 200)
    ]

    make_project("new")
    with transaction.atomic():
        create_domain("testing", name="Testing", actor=ACTOR)
    assert b'"new"' in web.read(token, "projects").body
    assert web.read(token, "projects/new").status == 200
    assert b'"Testing"' in web.read(token, "domains").body

    update_project("new", ProjectFields(name="Renamed", labels={"a": "b"}), actor=ACTOR)
    assert b"Renamed" in web.read(token, "projects/new").body
    update_project("flytesnacks", ProjectFields(state=ProjectState.ARCHIVED), actor=ACTOR)
    assert web.read(token).status == 400
    assert b"flytesnacks" not in web.read(token, "projects").body

    Project.objects.filter(id="new").delete()
    assert web.read(token, "projects/new").status == 404


def test_what_a_caller_may_not_read_is_as_at_the_gateway(web, token, put):
    make_project("other")
    narrow = token_for("viewer", scope=Scope(project="other"))
    nothing = token_for()
    put("1")
    for path in (READ, "projects", "projects/flytesnacks", "projects/other", "domains"):
        web.warm(token, path)
    requests = [(path, "GET", {}, None) for path in (READ, "projects", "projects/flytesnacks", "domains")]

    assert not differences(web, narrow, requests)
    assert not differences(web, nothing, requests)
    assert b"flytesnacks" not in web.read(narrow, "projects").body
    assert web.read(narrow).status == web.read(narrow, "projects/flytesnacks").status == 403


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (lambda: Token.objects.update(revoked_at=timezone.now()), 401),
        (lambda: RoleBinding.objects.update(project="other"), 403),
    ],
)
def test_who_may_no_longer_read_is_refused_at_once(web, put, change, status):
    put("1")
    secret = token_for("viewer")
    assert [web.warm(secret, path).status for path in (READ, "projects/flytesnacks")] == [200, 200]

    change()

    assert [web.read(secret, path).status for path in (READ, "projects/flytesnacks")] == [status, status]


def test_random_changes_are_read_alike_both_ways(web, token, put):
    chance = random.Random(17)
    places = ["project=flytesnacks", "project=flytesnacks&domain=development", "project=archived", ""]
    changes = [
        lambda: put(chance.choice(["", "1", "2"]), chance.choice(places)),
        lambda: update_project(
            chance.choice(["flytesnacks", "archived"]),
            ProjectFields(name=f"n{chance.random()}", state=ProjectState(chance.randrange(2))),
            actor=ACTOR,
        ),
        lambda: None,
    ]
    for path in PLAIN:
        web.warm(token, path)
    for _ in range(30):
        chance.choice(changes)()
        path, accept = chance.choice(PLAIN), chance.choice([SNAKE, CAMEL, PROTOBUF])

        ours = web.read(token, path, Accept=accept)

        assert comparable(ours) == comparable(web.ordinary(token, path, Accept=accept)), path


def test_calls_are_counted_where_the_gateways_are(web, token, put):
    put("1")
    missing = f"{PD}?resource_type=CLUSTER_RESOURCE"
    web.warm(token)
    web.warm(token, missing)
    time.sleep(0.7)
    counts = [("OK", READ), ("NOT_FOUND", missing)]
    before = [calls(code) for code, _ in counts]
    left = web.left

    for _ in range(5):
        for _, path in counts:
            web.read(token, path)
    time.sleep(0.7)

    assert [calls(code) - then for (code, _), then in zip(counts, before, strict=True)] == [5, 5]
    assert web.left == left


def calls(code: str) -> float:
    labels = {"call": "GetProjectDomainAttributes", "transport": "http", "code": code}
    return REGISTRY.get_sample_value("cp_flyte_calls_total", labels) or 0.0
