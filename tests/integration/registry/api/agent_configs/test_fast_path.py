"""The fast path of configuration polls, in one process: Django's answers, and never a stale 304."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.conf import settings
from django.db import connection, connections, transaction
from django.utils import timezone
from prometheus_client import REGISTRY

from controlplane.access.models import Principal, RoleBinding, Token
from controlplane.access.teams.teams import create_team
from controlplane.access.tokens import digest
from controlplane.asgi import Router
from registry.agent_configs.models import AgentConfigBundle, DataPlane
from registry.api.agent_configs.fast_connection import PollConnection
from tests.api.registry.agent_configs.test_agent_configs import published
from tests.support.api_client import ACTOR, Api, token_for
from tests.support.asgi_client import Worker, close_connections
from tests.support.waiting import until

PATH = "/api/v1/data-planes/eu/config"


class Web:
    """A web worker of our own, with a count of what it left to Django."""

    def __init__(self) -> None:
        self.worker = Worker(Router)
        self.router = self.worker.application
        self.left_to_django = 0
        django = self.router.polls._django

        async def left(*request):
            self.left_to_django += 1
            await django(*request)

        self.router.polls._django = left

    def start(self, secret, etag, path=PATH, method="GET", to=None, **headers):
        given = {"Authorization": f"Bearer {secret}", "If-None-Match": etag, "X-Request-ID": "r-1", **headers}
        return self.worker.start(
            method, path, to=to, **{name: value for name, value in given.items() if value}
        )

    def poll(self, secret, etag, path=PATH, **how):
        return self.start(secret, etag, path, **how).result(60)

    def fast(self, *poll, **how):
        """Poll, and say whether the fast path answered."""
        left = self.left_to_django
        answer = self.poll(*poll, **how)
        return answer, self.left_to_django == left

    def stop(self) -> None:
        self.router.stop()
        close_connections(self.router.bridge.pool, settings.WEB_THREADS)
        self.worker.run(self.router.polls.close())
        self.worker.run(self.router.effective.close())
        self.worker.run(self.router.bridge.close(5))
        self.worker.stop()


class Collector:
    """The principal of a data plane, with its token."""

    def __init__(self, web, name, *roles) -> None:
        self.web, self.name, self.secret = web, name, token_for(*roles or ("agent",))
        self.path = f"/api/v1/data-planes/{name}/config"
        self.token = Token.objects.select_related("principal").get(digest=digest(self.secret))
        spec = {"principal": self.token.principal.name}
        self.admin = Api(token_for("admin"))
        assert self.admin.put(f"data-planes/{name}", spec).status_code in (200, 201)

    def etag(self, query="") -> str:
        return Api(self.secret).get(self.path + query)["ETag"]

    def warm(self) -> str:
        """Poll until the fast path answers; return the ETag."""
        etag = self.etag()
        for _ in range(2):
            self.web.poll(self.secret, etag, self.path)
        answer, was_fast = self.web.fast(self.secret, etag, self.path)
        assert (answer.status, was_fast) == (304, True)
        return etag

    def status(self, etag) -> int:
        return self.web.poll(self.secret, etag, self.path).status


@pytest.fixture
def web(transactional_db):
    running = Web()
    yield running
    running.stop()


@pytest.fixture
def eu(web):
    return Collector(web, "eu")


# Path and headers, and whether the fast path answers.
MATRIX = {
    "plain": (PATH, {}, True),
    "yaml": (f"{PATH}?format=yaml", {}, True),
    "json": (f"{PATH}?format=json", {}, True),
    "config map": (f"{PATH}?format=configmap", {}, True),
    "without waiting": (f"{PATH}?format=json&wait=0", {}, True),
    "spaced token": (PATH, {"Authorization": "Bearer   {secret} "}, True),
    "other accepted types": (PATH, {"Accept": "application/xml"}, True),
    "no id": (PATH, {"X-Request-ID": ""}, True),
    "HEAD": (PATH, {"method": "HEAD"}, False),
    "POST": (PATH, {"method": "POST"}, False),
    "no ETag": (PATH, {"If-None-Match": ""}, False),
    "other ETag": (PATH, {"If-None-Match": '"other"'}, False),
    "other format's ETag": (f"{PATH}?format=json", {"If-None-Match": "{yaml}"}, False),
    "weak ETag": (PATH, {"If-None-Match": "W/{etag}"}, False),
    "list of ETags": (PATH, {"If-None-Match": '"a", {etag}'}, False),
    "any ETag": (PATH, {"If-None-Match": "*"}, False),
    "wait": (f"{PATH}?wait=1", {"If-None-Match": '"other"'}, False),
    "other format": (f"{PATH}?format=xml", {}, False),
    "unknown parameter": (f"{PATH}?formt=json", {}, False),
    "repeated parameter": (f"{PATH}?format=json&format=json", {}, False),
    "unknown data plane": ("/api/v1/data-planes/us/config", {}, False),
    "odd name": ("/api/v1/data-planes/EU/config", {}, False),
    "unknown token": (PATH, {"Authorization": "Bearer cp_pat_nothing"}, False),
    "no token": (PATH, {"Authorization": ""}, False),
    "administrator": (PATH, {"Authorization": "Bearer {admin}"}, False),
    "other principal": (PATH, {"Authorization": "Bearer {other}"}, False),
    "no right": (PATH, {"Authorization": "Bearer {viewer}"}, False),
    "evil host": (PATH, {"Host": "evil.example"}, False),
    "cookie": (PATH, {"Cookie": "cp-session=nothing"}, False),
}


def test_it_answers_as_django_does(web, eu):
    yaml = eu.warm()
    secrets = {"secret": eu.secret, "admin": eu.admin.token}
    secrets |= {"other": token_for("agent"), "viewer": token_for("viewer")}
    different = {}

    for name, (path, given, is_fast) in MATRIX.items():
        query = path.partition("?")[2].replace("wait=1", "").replace("xml", "yaml").replace("formt", "format")
        etag = eu.etag("?" + query.split("&")[0])
        headers = {header: value.format(**secrets, etag=etag, yaml=yaml) for header, value in given.items()}
        web.poll(eu.secret, etag, path, **headers)
        ours, was_fast = web.fast(eu.secret, etag, path, **headers)
        django = web.poll(eu.secret, etag, path, to=web.router._ordinary, **headers)
        if (comparable(ours), was_fast) != (comparable(django), is_fast):
            different[name] = (was_fast, comparable(ours), comparable(django))

    assert not different


def comparable(answer) -> tuple:
    """Headers without order: CSP's directives have none either. A body has its request's id, if it is new."""
    headers = {}
    for name, value in answer.headers:
        if name.startswith(b"ratelimit"):  # only what Django answers is counted
            continue
        words = sorted(value.split(b"; ")) if name == b"content-security-policy" else value
        headers[name] = "new" if name == b"x-request-id" and value != b"r-1" else words
    return answer.status, headers, answer.body.replace(answer["X-Request-ID"].encode(), b"id")


def test_a_304_has_the_requests_id_and_is_counted(web, eu):
    etag = eu.warm()
    before = counted(web)

    answer = web.poll(eu.secret, etag, **{"X-Request-ID": "mine"})

    assert (answer["X-Request-ID"], answer["ETag"]) == ("mine", etag)
    assert counted(web) == before + 1


def counted(web) -> float:
    """Polls of the fast path and of Django that got 304."""

    async def write() -> None:
        web.router.polls._metrics.write()

    web.worker.run(write())
    labels = {"method": "GET", "route": "api/v1/data-planes/<str:name>/config", "code_class": "3xx"}
    return REGISTRY.get_sample_value("cp_http_requests_total", labels) or 0


def test_a_poll_that_waits_is_answered_by_the_next_configuration(web, eu):
    waiting = web.start(eu.secret, eu.warm(), f"{PATH}?wait=60")
    until(lambda: web.router.limits.total)

    republish(eu)

    assert waiting.result(60).status == 200


def republish(eu):
    assert published(eu.admin).status_code == 201


def roll_back(eu):
    DataPlane.objects.update(active_revision=0)


def set_config_map(eu):
    """A new spec, so that the ConfigMap has another ETag."""
    body = {"principal": eu.token.principal.name, "config_map": {"name": "other"}}
    version = eu.admin.get("data-planes/eu")["ETag"]
    assert eu.admin.put("data-planes/eu", body, If_Match=version).status_code == 200


def delete(eu):
    version = eu.admin.get("data-planes/eu")["ETag"]
    assert eu.admin.delete("data-planes/eu", If_Match=version).status_code == 204


@pytest.mark.parametrize(
    ("change", "query", "status"),
    [
        (republish, "", 200),
        (roll_back, "", 404),
        (set_config_map, "?format=configmap", 200),
        (delete, "", 404),
    ],
)
def test_a_changed_configuration_counts_for_the_next_poll(web, eu, change, query, status):
    eu.warm()
    etag = eu.etag(query)
    assert web.fast(eu.secret, etag, PATH + query)[1]

    change(eu)

    answer = web.poll(eu.secret, etag, PATH + query)
    assert (answer.status, answer["ETag"] != etag if status == 200 else True) == (status, True)


def other_principal(eu):
    DataPlane.objects.filter(name=eu.name).update(principal="other")


def revoke(eu):
    Token.objects.filter(id=eu.token.id).update(revoked_at=timezone.now())


def expire(eu):
    Token.objects.filter(id=eu.token.id).update(expires_at=timezone.now())


def take_token(eu):
    Token.objects.filter(id=eu.token.id).delete()


def disable(eu):
    Principal.objects.filter(id=eu.token.principal_id).update(is_active=False)


def rename(eu):
    Principal.objects.filter(id=eu.token.principal_id).update(name=f"{eu.name}-renamed")


def take_role(eu):
    RoleBinding.objects.filter(principal_id=eu.token.principal_id).delete()


def end_role(eu):
    RoleBinding.objects.filter(principal_id=eu.token.principal_id).update(expires_at=timezone.now())


LOSSES = [
    *((other_principal, 404), (rename, 404), (revoke, 401), (expire, 401), (take_token, 401)),
    *((disable, 401), (take_role, 403), (end_role, 403)),
]


def test_who_may_no_longer_follow_is_refused_by_the_next_poll(web):
    for number, (lose, status) in enumerate(LOSSES):
        collector = Collector(web, f"dp-{number}")
        etag = collector.warm()

        lose(collector)

        assert collector.status(etag) == status, lose


def test_a_token_ends_at_its_time_without_any_change(web, eu):
    Token.objects.filter(id=eu.token.id).update(expires_at=timezone.now() + timedelta(hours=1))
    etag = eu.warm()
    (cached,) = (token for token in web.router.effective.tokens._tokens.values() if token.id == eu.token.id)
    assert cached.expires_at is not None

    cached.expires_at = timezone.now().timestamp() - 1

    # Looked up again: the database knows best.
    assert eu.status(etag) == 304
    assert cached not in web.router.effective.tokens._tokens.values()


def test_a_role_for_a_team_follows_its_data_planes_alone(web):
    ours, theirs = create_team("ours", actor=ACTOR), create_team("theirs", actor=ACTOR)
    collector = Collector(web, "eu")
    RoleBinding.objects.filter(principal_id=collector.token.principal_id).update(owned_by=ours)
    assert collector.status('"other"') == 404
    DataPlane.objects.update(team=ours)
    etag = collector.warm()

    DataPlane.objects.update(team=theirs)

    assert collector.status(etag) == 404


def test_a_look_that_began_before_a_poll_is_not_taken_for_it(web, eu, monkeypatch):
    etag = eu.warm()
    looked, go_on = threading.Event(), threading.Event()
    real = PollConnection.read

    async def slow(self, names):
        state = await real(self, names)
        looked.set()
        while not go_on.is_set():
            await asyncio.sleep(0.01)
        return state

    monkeypatch.setattr(PollConnection, "read", slow)
    early = web.start(eu.secret, etag)
    assert looked.wait(60)
    republish(eu)
    late = web.start(eu.secret, etag)
    go_on.set()

    assert early.result(60).status == 304
    assert late.result(60).status == 200


def activate(number) -> str:
    """Activate a new revision, and return its ETag after the commit."""
    with transaction.atomic():
        plane = DataPlane.objects.get()
        revision = plane.active_revision + 1
        AgentConfigBundle.objects.create(
            data_plane=plane, revision=revision, parent=0, digest=f"{number:064}", text="", body={}
        )
        DataPlane.objects.update(active_revision=revision, latest_revision=revision)
    return f'"{number:064}.yaml.{revision}"'


def test_polls_during_activations_get_no_304_for_an_older_revision(web, eu):
    etags, is_over, stale, answered = [eu.warm()], threading.Event(), [], []

    def poll() -> None:
        while not is_over.is_set():
            known = len(etags)
            if known > 1 and web.poll(eu.secret, etags[known - 2]).status == 304:
                stale.append(etags[known - 2])
            answered.append(web.poll(eu.secret, etags[known - 1]).status)

    with ThreadPoolExecutor(3) as pool:
        pollers = [pool.submit(poll) for _ in range(3)]
        for number in range(15):
            etags.append(activate(number))
            seen = len(answered)
            until(lambda seen=seen: len(answered) > seen)
        is_over.set()
        for poller in pollers:
            poller.result(60)

    assert not stale
    assert 304 in answered


def test_polls_that_arrive_together_share_a_statement(web, eu, monkeypatch):
    us = Collector(web, "us")
    etags = {eu: eu.warm(), us: us.warm()}
    asked, real = [], PollConnection.read

    async def count(self, names):
        asked.append(set(names))
        return await real(self, names)

    monkeypatch.setattr(PollConnection, "read", count)

    async def together():
        polls = [web.start(each.secret, etags[each], each.path) for each in (eu, us) for _ in range(20)]
        return await asyncio.gather(*map(asyncio.wrap_future, polls))

    assert [answer.status for answer in web.worker.run(together())] == [304] * 40
    assert asked == [{"eu", "us"}]


def test_a_lost_connection_leaves_polls_to_django(web, eu):
    etag = eu.warm()
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = %s",
            ["controlplane-config-polls"],
        )

    answer, was_fast = web.fast(eu.secret, etag)

    assert (answer.status, was_fast) == (304, False)
    until(lambda: web.fast(eu.secret, etag)[1])
    connections.close_all()
