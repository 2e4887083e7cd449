"""Long polls and streams of effective values, in one process."""

from __future__ import annotations

import json
import threading

import pytest

from controlplane.access.models import RoleBinding, Token
from controlplane.asgi import Router
from controlplane.scopes import Scope
from overrides.api.effective.fast_path import handler
from overrides.api.effective.watching import computing
from overrides.models import Project
from tests.support.api_client import Api, make_project, token_for
from tests.support.asgi_client import Worker, stop_effective
from tests.support.waiting import until

ROUTE = "/api/v1/overrides/effective"
PLACE = "project=flytesnacks&domain=development"
STREAM = f"{ROUTE}:stream"


class Web:
    """A web worker of our own."""

    def __init__(self) -> None:
        self.worker = Worker(Router)
        self.router = self.worker.application

    def start(self, token, path=f"{ROUTE}?{PLACE}&wait=20", etag="", **headers):
        etags = {"If-None-Match": etag} if etag else {}
        return self.worker.start("GET", path, Authorization=f"Bearer {token}", **etags, **headers)

    def read(self, token, path=f"{ROUTE}?{PLACE}", **how):
        return self.start(token, path, **how).result(25)

    def warm(self, token):
        """Ask until Django's headers are learned; return the ETag."""
        etag = self.read(token)["ETag"]
        for _ in range(2):
            assert self.read(token, etag=etag).status == 304
        return etag

    def wait_for_watchers(self, count):
        until(lambda: self.router.limits.total == count)

    def stop(self) -> None:
        self.worker.run(self.call(self.router.stop))
        stop_effective(self.worker)

    @staticmethod
    async def call(function):
        return function()


class Stream:
    """A stream under way, whose events are read as they come."""

    def __init__(self, web, token, scopes, last_event_id="", **body):
        self.sent = [json.dumps({"scopes": scopes, **body}).encode()]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        if last_event_id:
            headers["Last-Event-ID"] = last_event_id
        self.text, self.status, self.is_over = b"", 0, threading.Event()
        self.running = web.worker.start("POST", STREAM, self.sent[0], to=self.through(web), **headers)

    def through(self, web):
        async def application(scope, receive, send):
            async def keep(message):
                if message["type"] == "http.response.start":
                    self.status = message["status"]
                else:
                    self.text += message.get("body", b"")
                await send(message)

            await web.router(scope, receive, keep)
            self.is_over.set()

        return application

    def events(self):
        blocks = [dict(line.split(": ", 1) for line in block.splitlines()) for block in self.blocks()]
        return [(block["event"], json.loads(block["data"])) for block in blocks]

    def blocks(self):
        return [block for block in self.text.decode().split("\n\n") if block]

    def bookmarks(self):
        return [
            block.split("\n")[0].removeprefix("id: ") for block in self.blocks() if block.startswith("id: ")
        ]

    def values(self):
        return [data for name, data in self.events() if name == "effective"]

    def wait_for(self, count):
        until(lambda: len(self.values()) >= count and self.text.endswith(b"}\n\n"))
        return self.values()


@pytest.fixture
def web(transactional_db):
    make_project()
    running = Web()
    yield running
    running.stop()


@pytest.fixture
def token(web):
    return token_for("admin")


@pytest.fixture
def put(token):
    api = Api(token)

    def write(cpu, query=PLACE):
        path = f"overrides/task_resource?{query}"
        etag = api.get(path).headers.get("ETag", "")
        headers = {"If-Match": etag} if etag else {}
        answer = api("PUT", path, {"attributes": {"limits": {"cpu": cpu}}}, **headers)
        assert answer.status_code in (200, 201), answer.content

    return write


# On the fast path; and not plain, so that Django answers first.
WAYS = {"plain": {}, "accepted by a browser": {"Origin": "https://elsewhere.example"}}


@pytest.mark.parametrize("way", WAYS)
def test_a_poll_is_answered_when_its_answer_changes_and_not_before(web, token, put, way):
    put("1")
    etag = web.warm(token)
    waiting = web.start(token, etag=etag, **WAYS[way])
    web.wait_for_watchers(1)

    make_project("other")
    put("7", "project=other&domain=development")
    put("2", "domain=production")
    assert not waiting.done()
    put("2")

    answer = waiting.result(10)
    assert (answer.status, '"cpu":"2"' in answer.body.decode()) == (200, True)
    assert answer.body == web.read(token).body
    assert answer["ETag"] == web.read(token)["ETag"]
    web.wait_for_watchers(0)


@pytest.mark.parametrize("way", WAYS)
def test_a_poll_ends_with_304_when_its_time_is_over(web, token, put, way):
    etag = web.warm(token)

    answer = web.read(token, f"{ROUTE}?{PLACE}&wait=1", etag=etag, **WAYS[way])

    assert (answer.status, answer["ETag"], answer.body) == (304, etag, b"")
    web.wait_for_watchers(0)


@pytest.mark.parametrize("etag", ["", '"another"'])
def test_a_client_without_the_current_answer_does_not_wait(web, token, put, etag):
    web.warm(token)

    assert web.read(token, f"{ROUTE}?{PLACE}&wait=20", etag=etag).status == 200


@pytest.mark.parametrize("way", WAYS)
def test_flytes_answer_is_waited_for_too(web, token, put, way):
    path = f"{ROUTE}?{PLACE}&strategy=flyte"
    put("1")
    web.warm(token)
    etag = web.read(token, path)["ETag"]
    waiting = web.start(token, f"{path}&wait=20", etag=etag, **WAYS[way])
    web.wait_for_watchers(1)

    put("2")

    answer = waiting.result(10)
    assert (answer.status, answer.body) == (200, web.read(token, path).body)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    ("take_away", "status"),
    [
        (lambda: RoleBinding.objects.filter(principal__name__startswith="viewer").delete(), 403),
        (lambda: Token.objects.filter(principal__name__startswith="viewer").delete(), 401),
        (lambda: Project.objects.filter(pk="flytesnacks").delete(), 404),
    ],
    ids=["role", "token", "project"],
)
def test_who_may_not_read_any_more_is_told_at_once(web, token, put, way, take_away, status):
    viewer = token_for("viewer")
    etag = web.warm(viewer)
    waiting = web.start(viewer, etag=etag, **WAYS[way])
    web.wait_for_watchers(1)

    take_away()

    assert waiting.result(10).status == status
    web.wait_for_watchers(0)


def test_rights_of_others_end_no_poll(web, token, put):
    etag = web.warm(token)
    waiting = [web.start(token, etag=etag, **way) for way in WAYS.values()]
    web.wait_for_watchers(2)

    token_for("viewer")
    put("3")

    assert [each.result(10).status for each in waiting] == [200, 200]


def test_a_principal_with_too_many_polls_is_refused(web, token, put, settings):
    settings.WATCHERS_PER_PRINCIPAL = 1
    etag = web.warm(token)
    waiting = web.start(token, etag=etag)
    web.wait_for_watchers(1)

    assert [
        web.read(token, f"{ROUTE}?{PLACE}&wait=20", etag=etag, **way).status for way in WAYS.values()
    ] == [
        429,
        429,
    ]
    assert not waiting.done()


def test_the_end_of_the_process_ends_every_wait(web, token, put):
    etag = web.warm(token)
    waiting = [web.start(token, etag=etag, **way) for way in WAYS.values()]
    stream = Stream(web, token, [{}])
    web.wait_for_watchers(3)

    web.worker.run(web.call(web.router.stop))

    assert [each.result(10).status for each in waiting] == [304, 304]
    assert stream.is_over.wait(10)
    assert [name for name, _ in stream.events()[-1:]] == ["bookmark"]
    assert web.read(token, f"{ROUTE}?{PLACE}&wait=20", etag=etag).status == 304


def test_one_computation_serves_all_who_wait_for_a_scope(web, token, put, monkeypatch):
    computed, real = [], computing.effective_many
    monkeypatch.setattr(
        computing, "effective_many", lambda scopes, **how: computed.extend(scopes) or real(scopes, **how)
    )
    etag = web.warm(token)
    waiting = [web.start(token, etag=etag) for _ in range(20)]
    web.wait_for_watchers(20)

    put("5")

    bodies = {each.result(10).body for each in waiting}
    monkeypatch.setattr(handler, "effective_answer", None)  # what follows is answered from memory
    assert bodies == {web.read(token).body}
    assert computed == [Scope("development", "flytesnacks")]


def test_a_stream_begins_with_everything_and_goes_on_with_changes(web, token, put):
    put("1")
    stream = Stream(
        web, token, [{"project": "flytesnacks", "domain": "development"}, {"domain": "production"}]
    )
    first = stream.wait_for(2)
    assert [each["scope"]["domain"] for each in first] == ["development", "production"]
    assert first[0]["items"][0]["attributes"] == {"limits": {"cpu": "1"}}

    put("9", "project=flytesnacks")  # shadowed: no value changes
    put("2")

    changed = stream.wait_for(3)[2:]
    assert [each["items"][0]["attributes"] for each in changed] == [{"limits": {"cpu": "2"}}]
    assert changed[0]["etag"] != first[0]["etag"]


def test_a_stream_goes_on_where_it_ended(web, token, put):
    scopes = [{"project": "flytesnacks", "domain": "development"}, {"domain": "production"}]
    put("1")
    stream = Stream(web, token, scopes)
    stream.wait_for(2)
    web.wait_for_watchers(1)
    seen = stream.bookmarks()[-1]

    put("2", "domain=production")

    again = Stream(web, token, scopes, last_event_id=seen)
    assert [each["scope"]["domain"] for each in again.wait_for(1)] == ["production"]
    until(lambda: stream.bookmarks()[-1] == again.bookmarks()[-1] != seen)
    nothing = Stream(web, token, scopes, last_event_id=again.bookmarks()[-1])
    until(nothing.bookmarks)
    assert nothing.values() == []
    put("3")
    assert nothing.wait_for(1)[0]["items"][0]["attributes"] == {"limits": {"cpu": "3"}}


def test_a_stream_of_another_database_begins_anew(web, token, put):
    assert len(Stream(web, token, [{}], last_event_id="999999999").wait_for(1)) == 1


def test_a_stream_ends_for_who_may_not_read_any_more(web, token, put):
    viewer = token_for("viewer")
    stream = Stream(web, viewer, [{"domain": "development"}])
    stream.wait_for(1)
    web.wait_for_watchers(1)

    token_for("viewer")  # somebody else's right: it goes on
    put("1", "domain=development")
    stream.wait_for(2)
    RoleBinding.objects.filter(principal__name__startswith="viewer").delete()

    assert stream.is_over.wait(10)
    put("2", "domain=development")
    assert len(stream.values()) == 2
