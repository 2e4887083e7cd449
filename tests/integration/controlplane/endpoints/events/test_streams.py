"""Streams and long polls against the running server."""

from __future__ import annotations

import json
import re
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from controlplane.access.models import RoleBinding, Token
from controlplane.events import log
from controlplane.scopes import Scope
from overrides.projects import create_project
from tests.support.api_client import ACTOR, make_project, token_for
from tests.support.waiting import until


def ask(live: Any, token: str, query: str = "", **headers: str) -> Any:
    all_headers = {name.replace("_", "-"): value for name, value in headers.items()}
    request = urllib.request.Request(
        f"{live.url}/api/v1/events{query}", headers={"Authorization": f"Bearer {token}", **all_headers}
    )
    return urllib.request.urlopen(request, timeout=25)


def poll(live: Any, token: str, query: str) -> dict[str, Any]:
    return json.loads(ask(live, token, query).read())


class Stream:
    """Reads server-sent events as they come."""

    def __init__(self, live: Any, token: str, query: str = "", **headers: str) -> None:
        self.answer = ask(live, token, query, Accept="text/event-stream", **headers)

    def __iter__(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        text = b""
        while line := self.answer.readline():
            text += line
            if line == b"\n":
                match = re.fullmatch(rb"id: (\d+)\nevent: (\S+)\ndata: (.*)\n\n", text)
                assert match, text
                yield int(match[1]), match[2].decode(), json.loads(match[3])
                text = b""

    def news(self, count: int) -> list[str]:
        """The objects of the next events, without bookmarks."""
        object_ids: list[str] = []
        for _, name, data in self:
            if name != "bookmark":
                object_ids.append(data["object_id"])
            if len(object_ids) == count:
                break
        return object_ids

    def close(self) -> None:
        self.answer.close()


def later(seconds: float, *names: str) -> threading.Thread:
    def create() -> None:
        from django.db import connection

        time.sleep(seconds)
        for name in names:
            create_project(name, actor=ACTOR)
        connection.close()

    thread = threading.Thread(target=create)
    thread.start()
    return thread


def test_a_stream_tells_what_happens_and_goes_on_where_it_broke(live):
    token = token_for("admin")
    make_project("before")
    stream = Stream(live, token)
    assert stream.answer.headers["Content-Type"].startswith("text/event-stream")
    assert stream.answer.headers["X-Controlplane-Watch"] is None
    first = next(iter(stream))
    assert first[1] == "bookmark"  # what was before is not told

    thread = later(0.2, "a", "b")
    assert stream.news(2) == ["a", "b"]
    thread.join()
    stream.close()
    make_project("c")

    again = Stream(live, token, Last_Event_ID=str(log.last_number() - 2))
    assert again.news(2) == ["b", "c"]
    again.close()


def test_a_stream_from_the_beginning_misses_nothing_and_tells_nothing_twice(live):
    token = token_for("admin")
    for number in range(30):
        make_project(f"old-{number}")
    stream = Stream(live, token, "?after=0&limit=7&type=project.created")
    thread = later(0.0, *(f"new-{number}" for number in range(30)))

    assert stream.news(60) == [*(f"old-{n}" for n in range(30)), *(f"new-{n}" for n in range(30))]
    thread.join()
    stream.close()


def test_filters_and_roles_hold_in_streams(live):
    make_project("mine")
    viewer = token_for("viewer", scope=Scope(project="mine"))
    admin = token_for("admin")
    own = Stream(live, viewer)
    filtered = Stream(live, admin, "?object_type=project&object_id=last")

    create_project("other", actor=ACTOR)
    from overrides.projects import ProjectFields, update_project

    update_project("mine", ProjectFields(description="x"), actor=ACTOR)
    create_project("last", actor=ACTOR)

    assert own.news(1) == ["mine"]
    assert filtered.news(1) == ["last"]
    own.close()
    filtered.close()


def test_an_event_is_told_soon(live):
    token = token_for("admin")
    stream = Stream(live, token)
    lines = iter(stream)
    next(lines)
    lags = []
    for number in range(20):
        began = time.monotonic()
        make_project(f"p{number}")
        while next(lines)[1] == "bookmark":
            pass
        lags.append(time.monotonic() - began)
    stream.close()

    # The log is looked at ten times a second; generous, for a busy machine.
    assert sorted(lags)[10] < 5


def test_a_stream_ends_when_its_token_or_role_is_taken_away(live):
    for take_away in (Token.objects.all().delete, RoleBinding.objects.all().delete):
        stream = Stream(live, token_for("viewer"))
        lines = iter(stream)
        make_project(f"seen-{take_away.__self__.model.__name__.lower()}")
        assert "project.created" in (name for _, name, _ in lines)
        # A read that is under way keeps the rights with which it began.
        time.sleep(0.5)

        take_away()
        make_project(f"secret-{take_away.__self__.model.__name__.lower()}")

        assert [name for _, name, _ in lines] in ([], ["bookmark"])
        stream.close()


def test_a_long_poll_answers_at_once_soon_or_when_its_time_is_over(live):
    token = token_for("admin")
    make_project("a")
    last_seq = log.last_number()

    assert [item["object_id"] for item in poll(live, token, f"?after={last_seq - 1}&wait=20")["items"]] == [
        "a"
    ]

    began = time.monotonic()
    thread = later(0.5, "b")
    polled = poll(live, token, f"?wait=20&after={last_seq}")
    thread.join()
    assert ([item["object_id"] for item in polled["items"]], time.monotonic() - began < 10) == (["b"], True)

    began = time.monotonic()
    assert poll(live, token, f"?after={polled['next_after']}&wait=1")["items"] == []
    assert 0.9 < time.monotonic() - began < 10


def test_a_long_poll_waits_for_what_it_asked_for(live):
    token = token_for("admin")
    thread = later(0.3, "other", "mine")

    polled = poll(live, token, f"?after={log.last_number()}&object_id=mine&wait=20")

    thread.join()
    assert [item["object_id"] for item in polled["items"]] == ["mine"]
    assert polled["next_after"] >= polled["items"][0]["seq"]


@pytest.mark.parametrize(
    ("query", "headers", "status", "code"),
    [
        ("?wait=61", {}, 400, "invalid_request"),
        ("?wait=1&wait=2", {}, 400, "invalid_request"),
        ("?after=x", {}, 400, "invalid_request"),
        ("", {"Last_Event_ID": "x"}, 400, "invalid_request"),
        ("?after=999999", {}, 410, "events_gone"),
        ("?after=999999&wait=5", {}, 410, "events_gone"),
        ("", {"Authorization": "Bearer cp_pat_nonsense"}, 401, "not_authenticated"),
    ],
)
def test_what_cannot_be_watched_is_told_at_once(live, query, headers, status, code):
    token = token_for("admin")
    for accept in ("text/event-stream", "application/json"):
        with pytest.raises(urllib.error.HTTPError) as refused:
            ask(live, token, query, Accept=accept, **headers)
        assert (refused.value.code, json.loads(refused.value.read())["code"]) == (status, code)


def test_hundreds_of_idle_watchers_hold_no_threads_and_leave_room(live):
    # A principal may have a hundred in each worker, and the kernel chooses the worker.
    tokens, other = [token_for("admin"), token_for("admin")], token_for("admin")
    web = live.running[0].process.pid

    def threads() -> int:
        pids = [web, *map(int, Path(f"/proc/{web}/task/{web}/children").read_text().split())]
        return sum(len(list(Path(f"/proc/{pid}/task").iterdir())) for pid in pids)

    before = threads()
    with ThreadPoolExecutor(32) as pool:
        streams = list(pool.map(lambda number: Stream(live, tokens[number % 2]), range(150)))
    try:
        assert threads() - before < 30
        # Everybody else is served as ever, and each watcher hears.
        assert poll(live, other, "?limit=1")["items"] is not None
        make_project("heard")
        assert {stream.news(1)[0] for stream in streams} == {"heard"}
    finally:
        for stream in streams:
            stream.close()


def test_a_principal_has_a_limit_of_watches(live):
    token = token_for("admin")
    streams, refused = [], None
    try:
        # A hundred in each of the two workers at most.
        for _ in range(201):
            streams.append(Stream(live, token))
    except urllib.error.HTTPError as error:
        refused = error
    finally:
        for stream in streams:
            stream.close()

    assert refused is not None
    assert (refused.code, refused.headers["Retry-After"]) == (429, "60")
    assert json.loads(refused.read())["code"] == "too_many_attempts"

    # Closed ones make room.
    def is_admitted() -> bool:
        with suppress(urllib.error.HTTPError):
            Stream(live, token).close()
            return True
        return False

    until(is_admitted, 60, pause=0.2)
