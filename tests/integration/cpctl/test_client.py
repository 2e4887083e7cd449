"""How cpctl's client behaves towards servers in trouble: a small one that answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from cpctl.client import Api
from cpctl.contexts import Context
from cpctl.errors import ApiError, Unreachable, UsageError
from cpctl.event_stream import watch
from tests.support.cpctl_runner import Cpctl

NEVER = (503, {"Retry-After": "0"}, b"")


class Server(ThreadingHTTPServer):
    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.url = f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: Server

    def answer(self) -> None:
        self.server.requests.append((self.command, self.path, dict(self.headers)))
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        status, headers, body = self.server.answers.pop(0)
        if status == 0:
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_PUT = answer

    def log_message(self, *arguments: object) -> None:
        """Nothing: the test says what matters."""


@pytest.fixture
def server() -> Iterator[Server]:
    running = Server()
    thread = threading.Thread(target=running.serve_forever)
    thread.start()
    yield running
    running.shutdown()
    thread.join()
    running.server_close()


def ok(value: object) -> tuple[int, dict[str, str], bytes]:
    return 200, {"Content-Type": "application/json"}, json.dumps(value).encode()


@pytest.fixture
def api(server: Server) -> Api:
    return Api(Context("", server.url, "secret"))


def test_a_post_is_sent_again_with_the_same_key(server, api):
    server.answers = [NEVER, (0, {}, b""), ok({"done": True})]

    assert api.post("things", {"a": 1}).json() == {"done": True}

    keys = {headers["Idempotency-Key"] for _, _, headers in server.requests}
    assert (len(server.requests), len(keys)) == (3, 1)


def test_a_put_that_may_have_happened_is_not_sent_again(server, api):
    server.answers = [(0, {}, b""), ok({})]

    with pytest.raises(Unreachable):
        api.send("PUT", "things", {}, headers={"If-Match": '"v1"'})
    assert len(server.requests) == 1


def test_what_the_server_does_not_know_either_is_sent_again_with_a_key_only(server, api):
    unknown = (503, {"Retry-After": "0"}, b'{"code": "outcome_unknown", "detail": "Perhaps."}')
    server.answers = [unknown, unknown, ok({"done": True})]

    with pytest.raises(ApiError, match="Perhaps"):
        api.send("PUT", "things", {}, headers={"If-Match": '"v1"'})
    assert api.post("things", {}).json() == {"done": True}
    assert [method for method, _, _ in server.requests] == ["PUT", "POST", "POST"]


def test_a_read_asks_for_the_change_before_it(server, api):
    server.answers = [ok({}), (200, {"X-Controlplane-Position": "1/0/A:sig"}, b"{}"), ok({}), ok({})]

    for method in ("GET", "PUT", "GET", "GET"):
        api.send(method, "things", {} if method == "PUT" else None)

    sent = [dict(headers).get("X-Controlplane-Position") for _, _, headers in server.requests]
    assert sent == [None, None, "1/0/A:sig", "1/0/A:sig"]


def test_it_gives_up_and_says_what_the_server_said(server, api):
    server.answers = [(503, {"Retry-After": "0"}, b'{"code": "unavailable", "detail": "Later."}')] * 9

    with pytest.raises(ApiError, match="Later") as failed:
        api.get("things")
    assert (len(server.requests), failed.value.code) == (5, "unavailable")


def test_pages_are_followed_to_the_end_and_no_further_than_asked(server, api):
    pages = [ok({"items": [1, 2], "next_cursor": "c&=1"}), ok({"items": [3], "next_cursor": None})]
    server.answers = [*pages]
    assert list(api.items("things", {"q": "x"})) == [1, 2, 3]
    assert [path for _, path, _ in server.requests] == [
        "/api/v1/things?limit=200&q=x",
        "/api/v1/things?limit=200&q=x&cursor=c%26%3D1",
    ]

    server.answers = [*pages]
    assert list(api.items("things", most=2)) == [1, 2]


def test_the_token_does_not_follow_a_redirect(server, api):
    server.answers = [(307, {"Location": f"{server.url}/elsewhere"}, b""), ok({})]

    with pytest.raises(ApiError):
        api.get("things")
    assert len(server.requests) == 1


def test_only_addresses_of_the_web_are_opened():
    with pytest.raises(UsageError):
        Api(Context("", "file:///etc"))


def test_who_is_no_control_plane_is_told_and_not_taken_for_a_difference(server, tmp_path):
    server.answers = [(200, {}, b"<html>hello</html>")]

    ran = Cpctl(tmp_path, server.url, "secret")("whoami")

    assert (ran.code, "not a control plane" in ran.err, "Traceback" in ran.err) == (7, True, False)


def test_a_watch_goes_on_after_the_last_number_that_it_had(server, api):
    stream = {"Content-Type": "text/event-stream"}
    first = b'id: 3\nevent: a.b\ndata: {"seq": 3}\n\nid: 7\nevent: bookmark\ndata: {}\n\nid: 8\ndata: {"se'
    server.answers = [
        (200, stream, first),
        (503, {"Retry-After": "0"}, b""),
        (200, stream, b'id: 8\nevent: a.b\ndata: {"seq": 8}\n\n'),
    ]

    events = watch(api, {"object_type": "agent"}, after=2)

    assert [next(events), next(events)] == [{"seq": 3}, {"seq": 8}]
    cursors = [path.partition("after=")[2] for _, path, _ in server.requests]
    assert cursors == ["2", "7", "7"]


def test_a_watch_goes_on_with_the_oldest_event_after_others_were_dropped_and_says_so(server, api, capsys):
    stream = {"Content-Type": "text/event-stream"}
    server.answers = [
        (410, {}, b'{"code": "events_gone", "detail": "Gone.", "oldest_seq": 8}'),
        (200, stream, b'id: 8\nevent: a.b\ndata: {"seq": 8}\n\n'),
    ]

    assert next(watch(api, {}, after=2)) == {"seq": 8}

    assert [path.partition("after=")[2] for _, path, _ in server.requests] == ["2", "7"]
    assert "Events before 8 are no longer available" in capsys.readouterr().err


def test_a_watch_that_may_not_go_on_says_why(server, api):
    refused = (403, {}, b'{"code": "permission_denied", "detail": "Not here."}')
    server.answers = [refused, refused]

    with pytest.raises(ApiError, match="Not here"):
        next(watch(api, {}, after=0))
