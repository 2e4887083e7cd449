"""Following a resource: long polls and streams of a web worker."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from typing import Any

import pytest
from django.conf import settings
from django.db import connections

from controlplane.asgi import Router
from controlplane.scopes import Scope
from tests.support.api_client import Api, make_project, token_for
from tests.support.asgi_client import Worker, close_connections, scope_of
from tests.support.waiting import until

BODY: dict[str, Any] = {"service_type": "vm", "spec": {}}


class Web:
    """A web worker of its own."""

    def __init__(self) -> None:
        self.worker = Worker(Router)
        self.router = self.worker.application

    def start(self, token: str, path: str, **headers: str) -> Any:
        return self.worker.start("GET", f"/api/v1/{path}", Authorization=f"Bearer {token}", **headers)

    def get(self, token: str, path: str, **headers: str) -> Any:
        return self.start(token, path, **headers).result(30)

    def stream(self, token: str, path: str) -> Stream:
        return Stream(self.worker, token, path)

    def stop(self) -> None:
        feed = self.router._watchers._feed
        until(lambda: feed._task is None or feed._task.done())
        feed._thread.submit(connections.close_all).result(5)
        self.worker.run(_call(self.router._watchers.stop))
        close_connections(self.router.bridge.pool, settings.WEB_THREADS)
        for part in (self.router.joins, self.router.heartbeats, self.router.effective):
            self.worker.run(part.close())
        self.worker.run(self.router.bridge.close(5))
        self.worker.stop()


class Stream:
    """An open event stream. pieces: what has arrived."""

    def __init__(self, worker: Worker, token: str, path: str) -> None:
        self.pieces: list[bytes] = []
        headers = {"Authorization": f"Bearer {token}", "Accept": "text/event-stream"}
        scope = scope_of("GET", f"/api/v1/{path}", headers)
        self._worker, self._gone, self._is_sent = worker, asyncio.Event(), False
        self._ended = asyncio.run_coroutine_threadsafe(
            worker.application(scope, self._receive, self._send), worker.loop
        )

    def types(self) -> list[str]:
        lines = b"".join(self.pieces).decode().splitlines()
        names = [line.removeprefix("event: ") for line in lines if line.startswith("event: ")]
        return [name for name in names if name != "bookmark"]

    def close(self) -> None:
        self._worker.loop.call_soon_threadsafe(self._gone.set)
        self._ended.result(15)

    async def _receive(self) -> dict[str, Any]:
        if not self._is_sent:
            self._is_sent = True
            return {"type": "http.request", "body": b"", "more_body": False}
        await self._gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: dict[str, Any]) -> None:
        self.pieces.append(message.get("body", b""))


async def _call(step: Any) -> None:
    step()


@pytest.fixture
def web(transactional_db: None) -> Iterator[Web]:
    web = Web()
    yield web
    web.stop()


def test_waiting_for_a_resource_ends_with_its_next_state_or_with_its_time(web):
    token = token_for("admin")
    api = Api(token)
    etag = api.post("resources?id=web", BODY)["ETag"]
    api.post("resources?id=other", BODY)

    began = time.monotonic()
    answer = web.get(token, "resources/web?wait=1", If_None_Match=etag)
    assert (answer.status, answer.body, time.monotonic() - began > 0.8) == (304, b"", True)
    # The watch is for the event streams, and not for clients.
    assert not [name for name, _ in answer.headers if b"watch" in name.lower()]
    assert web.get(token, "resources/web", If_None_Match=etag).status == 304
    assert web.get(token, "resources/web?wait=60", If_None_Match='"v999"').status == 200
    assert web.get(token, "resources/none?wait=60", If_None_Match=etag).status == 404

    waiting = web.start(token, "resources/web?wait=60", If_None_Match=etag)
    api.delete("resources/other")
    api.delete("resources/web")
    answer = waiting.result(30)
    if answer.status == 304:
        # Woken before the change could be read: clients ask again, and learn of it at once.
        answer = web.get(token, "resources/web?wait=60", If_None_Match=etag)
    assert (answer.status, json.loads(answer.body)["state"]) == (200, "deleted")


def test_who_may_no_longer_read_a_resource_waits_for_nothing(web):
    make_project("shop")
    api, viewer = Api(token_for("admin")), token_for("viewer", scope=Scope(project="shop"))
    etag = api.post("resources?id=web", {**BODY, "project": "shop"})["ETag"]

    waiting = web.start(viewer, "resources/web?wait=60", If_None_Match=etag)
    until(lambda: web.router.limits.total == 1)
    (binding,) = [row for row in api.get("role-bindings").json()["items"] if row["role"] == "viewer"]
    api.delete(f"role-bindings/{binding['id']}")
    api.delete("resources/web")
    assert waiting.result(30).status in (403, 404)


def test_the_events_of_one_resource_are_streamed_to_its_readers(web):
    make_project("shop")
    admin = Api(token_for("admin"))
    viewer = token_for("viewer", scope=Scope(project="shop"))
    stranger = token_for("viewer", scope=Scope(domain="staging"))
    for name in ("web", "other"):
        admin.post(f"resources?id={name}", {**BODY, "project": "shop"})
    start = admin.get("events").json()["next_after"]
    query = f"events?after={start}&object_type=resource&object_id=web"
    streams = [web.stream(token, query) for token in (viewer, stranger)]

    for name in ("other", "web"):
        admin.delete(f"resources/{name}")
    expected = ["resource.deleted", "resource.deletion_requested"]
    until(lambda: sorted(streams[0].types()) == expected, explain=lambda: streams[0].pieces)
    for stream in streams:
        stream.close()
    assert streams[1].types() == []
    types = [event["type"] for event in json.loads(web.get(viewer, query).body)["items"]]
    assert sorted(types) == expected
    assert json.loads(web.get(stranger, f"{query}&wait=1").body)["items"] == []
