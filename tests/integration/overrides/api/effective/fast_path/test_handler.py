"""The fast path of effective reads, in one process: Django's answers, never stale, for no wrong caller."""

from __future__ import annotations

import asyncio
import threading
import time
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone
from prometheus_client import REGISTRY

from controlplane.access import principals, role_bindings
from controlplane.access.models import Principal, RoleBinding, Token
from controlplane.asgi import Router
from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from overrides.api.effective.fast_path import handler
from overrides.api.effective.fast_path import revision_connection as looking
from overrides.api.effective.fast_path.handler import plain_heads
from overrides.models import Domain, Project
from tests.support.api_client import ACTOR, Api, make_principal, make_project, token_for
from tests.support.asgi_client import Worker, stop_effective
from tests.support.waiting import until

ROUTE = "/api/v1/overrides/effective"
PLACE = "project=flytesnacks&domain=development"
READ = f"{ROUTE}?{PLACE}"


class Web:
    """A web worker of our own, with counts of who answered."""

    def __init__(self, monkeypatch) -> None:
        self.worker = Worker(Router)
        self.router = self.worker.application
        self.computed = 0
        self.left_to_django = 0
        self.gate = threading.Event()
        self.gate.set()
        real, django = handler.effective_answer, self.router.effective._django

        def compute(*question):
            answer = real(*question)
            self.computed += 1
            self.gate.wait(60)
            return answer

        async def left(*request):
            self.left_to_django += 1
            await django(*request)

        monkeypatch.setattr(handler, "effective_answer", compute)
        self.router.effective._django = left

    def read(self, token, path=READ, **headers):
        return self.worker.get(path, Authorization=f"Bearer {token}", **headers)

    def warm(self, token, path=READ):
        """Ask until it is answered from memory: Django's headers are learned, the answer is kept."""
        for _ in range(3):
            answer = self.read(token, path)
        return answer

    def stop(self) -> None:
        stop_effective(self.worker)


@pytest.fixture
def web(transactional_db, monkeypatch):
    make_project()
    running = Web(monkeypatch)
    yield running
    running.gate.set()
    running.stop()


@pytest.fixture
def token(web):
    return token_for("admin")


@pytest.fixture
def put(token):
    """Set the CPU limit at a scope, as another process would: committed when it returns."""
    api = Api(token)

    def write(cpu, query=PLACE, resource_type="task_resource"):
        path = f"overrides/{resource_type}?{query}"
        etag = api.get(path).headers.get("ETag", "")
        headers = {"If-Match": etag} if etag else {}
        answer = api("PUT", path, {"attributes": {"limits": {"cpu": cpu}}}, **headers)
        assert answer.status_code in (200, 201), answer.content

    return write


def cpu_in(answer) -> str:
    assert answer.status == 200, answer.body
    return answer.body.decode().partition('"cpu":"')[2].partition('"')[0]


MATRIX = {
    "plain": (READ, {}),
    "global": (ROUTE, {}),
    "only domain": (f"{ROUTE}?domain=development", {}),
    "workflow": (f"{READ}&workflow=w%20x.y&launch_plan=caf%C3%A9", {}),
    "one type": (f"{READ}&resource_type=task_resource", {}),
    "empty segments": (f"{READ}&workflow=&launch_plan=", {}),
    "other order": (f"{ROUTE}?domain=development&project=flytesnacks", {}),
    "unset type": (f"{READ}&resource_type=cluster_resource", {}),
    "flyte": (f"{READ}&strategy=flyte", {}),
    "flyte at a workflow": (f"{READ}&workflow=w&strategy=flyte&resource_type=task_resource", {}),
    "native": (f"{READ}&strategy=native", {}),
    "empty strategy": (f"{READ}&strategy=", {}),
    "other strategy": (f"{READ}&strategy=Flyte", {}),
    "as of": (f"{READ}&as_of=0", {}),
    "unknown project": (f"{ROUTE}?project=flytesnakcs&domain=development", {}),
    "unknown domain": (f"{ROUTE}?domain=nowhere", {}),
    "unknown type": (f"{READ}&resource_type=task_resorce", {}),
    "empty type": (f"{READ}&resource_type=", {}),
    "illegal shape": (f"{ROUTE}?workflow=w", {}),
    "unknown parameter": (f"{READ}&projct=x", {}),
    "repeated parameter": (f"{READ}&project=flytesnacks", {}),
    "too long": (f"{ROUTE}?project={'x' * 300}", {}),
    "spaces": (f"{ROUTE}?project=%20flytesnacks", {}),
    "NUL": (f"{ROUTE}?project=%00", {}),
    "no UTF-8": (f"{ROUTE}?project=%FF", {}),
    "zero width": (f"{ROUTE}?project=a%E2%80%8B", {}),
    "trailing slash": (f"{ROUTE}/?{PLACE}", {}),
    "no token": (READ, {"Authorization": ""}),
    "other scheme": (READ, {"Authorization": "Basic eDp5"}),
    "lower-case scheme": (READ, {"Authorization": "bearer {token}"}),
    "spaced token": (READ, {"Authorization": "Bearer   {token}  "}),
    "unknown token": (READ, {"Authorization": "Bearer cp_pat_nothing"}),
    "evil host": (READ, {"Host": "evil.example"}),
    "host with port": (READ, {"Host": "testserver:8000"}),
    "no host": (READ, {"Host": ""}),
    "cookie": (READ, {"Cookie": "cp-session=nothing"}),
    "forged request id": (READ, {"X_Request_ID": "bad id\t"}),
    "other etag": (READ, {"If_None_Match": '"other"'}),
    "weak etag": (READ, {"If_None_Match": "W/{etag}"}),
    "this etag": (READ, {"If_None_Match": "{etag}"}),
    "list of etags": (READ, {"If_None_Match": '"a", {etag}'}),
    "any etag": (READ, {"If_None_Match": "*"}),
    "a wait for what is there": (f"{READ}&wait=5", {"If_None_Match": '"other"'}),
    "no wait": (f"{READ}&wait=0", {"If_None_Match": "{etag}"}),
    "too long a wait": (f"{READ}&wait=61", {}),
    "a wait that is no number": (f"{READ}&wait=1e1", {}),
    "two waits": (f"{READ}&wait=1&wait=1", {}),
    "a wait for the past": (f"{READ}&wait=1&as_of=0", {}),
}
ANSWERED_FROM_MEMORY = {
    *("plain", "global", "only domain", "workflow", "one type", "empty segments", "other order"),
    *("flyte", "flyte at a workflow", "native"),
    *("unset type", "host with port", "forged request id", "other etag", "this etag", "spaced token"),
    *("a wait for what is there", "no wait"),
}


OTHER_METHODS = [
    (method, case)
    for method in ("HEAD", "POST", "OPTIONS")
    for case in ("plain", "this etag", "unknown project")
]


@pytest.mark.parametrize(("method", "case"), [("GET", case) for case in MATRIX] + OTHER_METHODS)
def test_it_answers_as_django_does(web, token, put, method, case):
    put("1")
    put("2", "")
    path, given = MATRIX[case]
    etag = web.read(token)["ETag"]
    headers = {"Authorization": "Bearer {token}", "X_Request_ID": "r-1", **given}
    headers = {name: value.format(token=token, etag=etag) for name, value in headers.items()}
    for _ in range(3):
        ours = web.worker.start(method, path, **headers).result(15)
    left = web.left_to_django

    ours = web.worker.start(method, path, **headers).result(15)
    django = web.worker.start(method, path, to=web.router.bridge, **headers).result(15)

    assert (ours.status, comparable(ours)) == (django.status, comparable(django))
    # What HEAD sends is cut by the server.
    assert without_id(ours) == without_id(django)
    if case != "trailing slash":  # another path: it has never come to us
        fast = case in ANSWERED_FROM_MEMORY and method in ("GET", "HEAD")
        assert (web.left_to_django == left) is fast


def without_id(answer) -> bytes:
    return answer.body.replace(answer["X-Request-ID"].encode(), b"id")


def comparable(answer) -> list:
    """Headers without order: CSP's directives have none either. A forged id is replaced by a new one.

    What is answered from memory is not counted, and so says nothing of the rate limit.
    """
    names = []
    for name, value in answer.headers:
        if name.startswith(b"ratelimit"):
            continue
        words = sorted(value.split(b"; ")) if name == b"content-security-policy" else value
        names.append((name, "new" if name == b"x-request-id" and value != b"r-1" else words))
    return sorted(names, key=str)


def test_it_is_as_new_as_the_last_write(web, token, put):
    for number in range(1, 30):
        put(str(number))
        assert cpu_in(web.read(token)) == str(number)


@pytest.mark.parametrize(
    "query",
    [
        "",
        "domain=development",
        "project=flytesnacks",
        PLACE,
        f"{PLACE}&workflow=w",
        f"{PLACE}&workflow=w&launch_plan=l",
    ],
)
def test_a_change_at_any_rung_is_seen(web, token, put, query):
    deep = f"{READ}&workflow=w&launch_plan=l"
    put("1", "")
    web.warm(token, deep)

    put("2", query)

    assert cpu_in(web.read(token, deep)) == "2"


def test_changes_elsewhere_leave_what_is_kept(web, token, put):
    put("1")
    web.warm(token)
    computed = web.computed

    make_project("other")
    for query in (
        "domain=staging",
        "project=other",
        "project=other&domain=development",
        f"{PLACE}&workflow=w",
    ):
        put("9", query)
    web.read(token)

    assert web.computed == computed
    put("3", "project=flytesnacks")
    web.read(token)
    assert web.computed == computed + 1


def test_a_deletion_is_seen(web, token, put):
    put("1", "")
    put("2")
    assert cpu_in(web.warm(token)) == "2"

    api = Api(token)
    path = f"overrides/task_resource?{PLACE}"
    assert api("DELETE", path, **{"If-Match": api.get(path)["ETag"]}).status_code == 204

    assert cpu_in(web.read(token)) == "1"


def test_a_guard_rail_and_a_type_make_all_answers_new(web, token, put):
    put("5")
    web.warm(token)
    rail = {
        "name": "at-most-2",
        "scope": {"project": "flytesnacks"},
        "resource_type": "task_resource",
        "pointer": "/limits/memory",
        "rule": {"maximum": "2Gi"},
    }

    answer = Api(token).put("guard-rails/at-most-2", rail)

    assert answer.status_code == 201, answer.content

    assert b"at-most-2" in web.read(token).body


@pytest.mark.parametrize(("row", "name"), [(Project, "flytesnacks"), (Domain, "development")])
def test_what_is_no_longer_registered_is_not_found(web, token, put, row, name):
    put("1")
    assert web.warm(token).status == 200

    row.objects.filter(id=name).delete()

    assert web.read(token).status == 404


def forget(secret):
    Token.objects.all().delete()


def revoke(secret):
    Token.objects.update(revoked_at=timezone.now())


def expire(secret):
    Token.objects.update(expires_at=timezone.now())


def switch_off(secret):
    Principal.objects.update(is_active=False)


def take_roles(secret):
    RoleBinding.objects.all().delete()


def narrow_role(secret):
    RoleBinding.objects.update(project="other")


def take_principal(secret):
    Token.objects.all().delete()
    RoleBinding.objects.all().delete()
    Principal.objects.all().delete()


@pytest.mark.parametrize(
    ("change", "status"),
    [
        (forget, 401),
        (revoke, 401),
        (expire, 401),
        (switch_off, 401),
        (take_principal, 401),
        (take_roles, 403),
        (narrow_role, 403),
    ],
)
def test_who_may_no_longer_read_is_refused_at_once(web, put, change, status):
    put("1")
    secret = token_for("viewer")
    assert web.warm(secret).status == 200

    change(secret)

    assert web.read(secret).status == status


def test_a_token_ends_with_the_token_that_it_was_created_with(web, put):
    put("1")
    operator = Api(token_for("admin"))
    first = operator.post("tokens", {"name": "first"}).json()
    child = Api(first["token"]).post("tokens", {"name": "child"}).json()
    assert web.warm(child["token"]).status == 200

    operator.delete(f"tokens/{first['id']}")

    assert web.read(child["token"]).status == 401


def test_a_token_ends_at_its_time_without_any_change(web, put):
    put("1")
    principal = make_principal("viewer")
    ends = timezone.now() + timedelta(seconds=1.5)
    _, secret = principals.create_token(principal, name="short", expires_at=ends, actor=ACTOR)
    assert web.warm(secret).status == 200

    time.sleep(1.6)

    assert web.read(secret).status == 401


def test_a_role_at_a_scope_reads_there_alone_and_a_new_role_counts_at_once(web, put):
    put("1")
    make_project("other")
    principal = make_principal("viewer", scope=Scope(project="flytesnacks"))
    _, secret = principals.create_token(principal, name="t", expires_at=None, actor=ACTOR)
    elsewhere = f"{ROUTE}?project=other&domain=development"
    assert web.warm(secret).status == 200
    assert web.warm(secret, elsewhere).status == 403

    role_bindings.bind_role(principal, Role.VIEWER, Scope(project="other"), actor=ACTOR)

    assert web.read(secret, elsewhere).status == 200


def test_a_look_that_began_before_a_request_is_not_taken_for_it(web, token, put, monkeypatch):
    put("1")
    web.warm(token)
    looked, go_on = threading.Event(), threading.Event()
    real = looking.RevisionConnection.poll

    async def slow(self):
        sight = await real(self)
        looked.set()
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        return sight

    monkeypatch.setattr(looking.RevisionConnection, "poll", slow)
    early = web.worker.start("GET", READ, Authorization=f"Bearer {token}")
    looked.wait(60)
    put("2")
    late = web.worker.start("GET", READ, Authorization=f"Bearer {token}")
    time.sleep(0.1)
    go_on.set()

    assert cpu_in(early.result(10)) == "1"
    assert cpu_in(late.result(10)) == "2"


def test_another_server_behind_a_new_connection_starts_from_nothing(web, token, put, monkeypatch):
    put("1")
    web.warm(token)
    computed = web.computed

    # A standby that took over may lack our last revisions, and count them again for something else.
    end_look_connections()
    web.read(token)
    time.sleep(0.3)
    web.read(token)

    assert web.computed > computed


def test_an_answer_that_was_computed_while_a_write_committed_is_not_kept(web, token, put):
    put("1")
    web.warm(token, ROUTE)
    web.gate.clear()
    early = web.worker.start("GET", READ, Authorization=f"Bearer {token}")
    until(lambda: web.computed == 2)

    put("2")
    later = web.worker.start("GET", READ, Authorization=f"Bearer {token}")
    time.sleep(0.2)
    web.gate.set()

    # The first may be old: it was asked before the write. The second may not.
    assert cpu_in(early.result(10)) == "1"
    assert cpu_in(later.result(10)) == "2"
    assert cpu_in(web.read(token)) == "2"


def test_an_answer_that_was_computed_before_a_write_and_kept_after_it_is_dropped(web, token, put):
    put("1")
    web.warm(token, ROUTE)
    web.gate.clear()
    early = web.worker.start("GET", READ, Authorization=f"Bearer {token}")
    until(lambda: web.computed == 2)

    put("2")
    web.gate.set()
    early.result(10)

    assert cpu_in(web.read(token)) == "2"


def test_the_same_question_is_computed_once_for_all_who_ask(web, token, put):
    put("1")
    web.warm(token, ROUTE)
    before = web.computed
    web.gate.clear()

    reads = [web.worker.start("GET", READ, Authorization=f"Bearer {token}") for _ in range(30)]
    until(lambda: web.computed > before)
    time.sleep(0.1)
    web.gate.set()

    assert {cpu_in(read.result(10)) for read in reads} == {"1"}
    assert web.computed == before + 1


def test_a_database_that_was_restored_is_not_taken_for_the_one_before(web, token, put):
    put("1")
    put("2")
    assert cpu_in(web.warm(token)) == "2"
    with connection.cursor() as cursor:
        cursor.execute(
            "DELETE FROM overrides_revision WHERE revision = 2;"
            "UPDATE overrides_revisioncounter SET revision = 1;"
            "UPDATE overrides_scopehead SET revision = 1;"
            """UPDATE overrides_override SET attributes = '{"limits": {"cpu": "1"}}', version = 1;"""
        )

    # The same number again, for something else.
    put("9", "domain=staging")

    assert cpu_in(web.read(token)) == "1"


def end_look_connections() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND application_name = 'controlplane-fast-reads'"
        )
        return cursor.fetchone()[0]


def test_a_connection_that_breaks_is_made_again_and_nothing_old_is_shown(web, token, put):
    put("1")
    web.warm(token)
    for number in range(2, 5):
        assert end_look_connections() == 1
        put(str(number))

        assert cpu_in(web.read(token)) == str(number)

        time.sleep(0.3)
        left = web.left_to_django
        assert cpu_in(web.read(token)) == str(number)
        assert web.left_to_django == left


def test_without_the_check_django_answers(web, token, put, monkeypatch):
    put("1")
    web.warm(token)

    async def refuse():
        raise OSError("planted")

    monkeypatch.setattr(looking.RevisionConnection, "open", refuse)
    end_look_connections()
    put("2")

    assert [cpu_in(web.read(token)) for _ in range(3)] == ["2", "2", "2"]


def test_the_last_use_of_a_token_is_noted_now_and_then_and_disturbs_nothing(web, token, put):
    put("1")
    web.warm(token)
    computed, left = web.computed, web.left_to_django
    Token.objects.update(last_used_at=timezone.now() - timedelta(hours=1))
    for known_token in web.router.effective.tokens._tokens.values():
        known_token.used_at -= 61

    began, epoch = timezone.now(), access_epoch()
    web.read(token)

    until(lambda: Token.objects.filter(last_used_at__gte=began - timedelta(seconds=1)).exists())
    web.read(token)
    assert (web.computed, web.left_to_django) == (computed, left)
    assert access_epoch() == epoch


def access_epoch():
    with connection.cursor() as cursor:
        cursor.execute("SELECT epoch FROM access_epoch")
        return cursor.fetchone()[0]


def test_who_is_new_or_logs_in_moves_no_epoch_and_who_changes_does(db):
    principal = make_principal("viewer")
    before = access_epoch()

    _, secret = principals.create_token(make_principal(), name="t", expires_at=None, actor=ACTOR)
    principal.last_login = timezone.now()
    principal.save(update_fields=["last_login"])
    Token.objects.update(last_used_at=timezone.now())

    assert secret
    assert access_epoch() == before
    principal.is_active = False
    principal.save()
    assert access_epoch() != before


def test_plain_http_is_refused_where_tls_is_wanted(web, token, put, settings):
    put("1")
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    web.router.effective._heads = plain_heads()
    for _ in range(3):
        ours = [
            web.read(token, X_Forwarded_Proto=text).status
            for text in ("https", "https,http", "http", "HTTPS")
        ]

    assert ours == [200, 200, 403, 403]
    assert web.read(token).status == 403


def test_requests_are_counted_where_djangos_are(web, token, put):
    put("1")
    web.warm(token)
    etag = web.read(token)["ETag"]
    web.read(token, If_None_Match=etag)
    time.sleep(0.7)
    labels = {"method": "GET", "route": "api/v1/overrides/effective"}
    before = [figure("cp_http_requests_total", **labels, code_class=name) for name in ("2xx", "3xx")]
    timed = figure("cp_http_request_duration_seconds_count", **labels)

    for _ in range(5):
        web.read(token)
        web.read(token, If_None_Match=etag)
    time.sleep(0.7)

    after = [figure("cp_http_requests_total", **labels, code_class=name) for name in ("2xx", "3xx")]
    assert [now - then for now, then in zip(after, before, strict=True)] == [5, 5]
    assert figure("cp_http_request_duration_seconds_count", **labels) - timed == 10


def figure(name: str, **labels: str) -> float:
    return REGISTRY.get_sample_value(name, labels) or 0.0


@pytest.fixture
def console(monkeypatch):
    """The only origin whose pages may call; the router reads the setting when it is made."""
    origin = "https://console.example.com"
    monkeypatch.setattr(settings, "CORS_ALLOWED_ORIGINS", frozenset([origin]))
    return origin


def test_pages_of_another_origin_read_from_memory_and_from_django(console, web, token):
    web.warm(token)
    headers = {"Authorization": f"Bearer {token}", "Origin": console}

    for path in (READ, "/api/v1/domains", "/api/v1/scopes/projects", "/api/v1/events?limit=1"):
        answer = web.worker.start("GET", path, **headers).result(15)
        assert (answer.status, answer["Access-Control-Allow-Origin"]) == (200, console), path
        preflight = {"Origin": console, "Access_Control_Request_Method": "GET"}
        assert web.worker.start("OPTIONS", path, **preflight).result(15).status == 200

    left = web.left_to_django
    from_memory = web.read(token)
    assert web.left_to_django == left
    assert from_memory["Vary"] == web.read(token, Origin=console)["Vary"]
