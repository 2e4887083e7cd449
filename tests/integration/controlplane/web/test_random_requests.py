"""Random requests on real sockets: with fast paths and without, answers and effects are the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given, note
from hypothesis import strategies as st

from tests.integration.controlplane.web.test_raw_requests import Heartbeats, Joins, Reads, ordinary
from tests.support.odd_requests import CLOSING, Plain, one_chunk
from tests.support.properties import examples
from tests.support.raw_answers import answers_of, converse

__all__ = ["ordinary"]

METHODS = (b"PUT", b"GET", b"POST", b"PATCH", b"OPTIONS", b"put")
# Changes of a target: what is replaced, and by what.
TARGETS = (
    *((b"/v1/", b"/v1//"), (b"/v1/", b"/v2/"), (b"/heartbeat", b"/heartbeats"), (b":join", b":leave")),
    *((b":join", b"%3ajoin"), (b"project=", b"project=&project="), (b"flytesnacks", b"%66lytesnacks")),
    *((b"domain=", b"nonsense="), (b"effective", b"effective/"), (b"/agents/", b"/agents/0")),
)
# No Idempotency-Key: both servers share what is stored for a key.
HEADERS = (
    *(b"Accept: */*", b"Accept: application/xml", b"Accept-Encoding: gzip", b'If-None-Match: "x"'),
    *(b"Connection: keep-alive", b"Connection: close", b"Expect: 100-continue", b"Upgrade: h2c"),
    *(b"Cookie: sessionid=x", b"Origin: http://x", b"X-Request-ID: an-id.1", b"X-Request-ID: <script>"),
    *(b"If-Match: *", b"Content-Encoding: gzip", b"Content-Length: 3"),
    *(b"X-Name: \xc3\xa9\xff", b"X-Tab:\ta\t", b"X-Null: a\0b", b"X-Spaced : 1", b"nonsense"),
    *(b"Transfer-Encoding: chunked", b"Host: evil.example", b"Host: localhost", b"Authorization: Bearer x"),
)
# Beginnings of the lines that are left out.
LEFT_OUT = ((b"Host",), (b"Authorization",), (b"Content-Type",))
VERSIONS = (b"HTTP/1.0", b"HTTP/1.2")


def _same(body: bytes) -> bytes:
    return body


BODIES: dict[str, Callable[[bytes], bytes]] = {
    "valid": _same,
    "cut off": lambda body: body[:-1] + b" ",
    "no object": lambda body: b"[1]".ljust(len(body)),
    "null": lambda body: body.replace(b":", b"\0", 1),
    "not UTF-8": lambda body: body[:-3] + b"\xff" + body[-2:],
    "unknown member": lambda body: body.replace(b'"timestamp"', b'"Timestamp"'),
    "number": lambda body: body.replace(b": 10", b":-10"),
    "spaces": lambda body: b"  " + body + b"\n",
}


@dataclass(frozen=True)
class Change:
    """How one request differs from a plain one."""

    method: bytes = b""
    target: tuple[bytes, bytes] = (b"", b"")
    headers: Sequence[bytes] = ()
    left_out: tuple[bytes, ...] = ()
    version: bytes = b"HTTP/1.1"
    body: str = "valid"
    is_chunked: bool = False

    def write(self, plain: Plain) -> bytes:
        old, new = self.target
        target = plain.target.replace(old, new) if old else plain.target
        body = BODIES[self.body](plain.body)
        changed = Plain(self.method or plain.method, target, plain.token, body)
        options = {"without": self.left_out, "version": self.version}
        if self.is_chunked:
            options["without"] = (*self.left_out, b"Content-Length")
            headers = (b"Transfer-Encoding: chunked", *self.headers)
            return changed.write(*headers, body=one_chunk(body), **options)  # type: ignore[arg-type]
        return changed.write(*self.headers, **options)  # type: ignore[arg-type]


_ASPECTS: dict[str, Any] = {
    "method": st.sampled_from(METHODS),
    "target": st.sampled_from(TARGETS),
    "headers": st.lists(st.sampled_from(HEADERS), min_size=1, max_size=3),
    "left_out": st.sampled_from(LEFT_OUT),
    "version": st.sampled_from(VERSIONS),
    "body": st.sampled_from(list(BODIES)),
    "is_chunked": st.just(True),
}
# Mostly one change: of several, one would send the request to Django and hide what the others do.
_changes = st.one_of(
    *(st.builds(Change, **{name: values}) for name, values in _ASPECTS.items()), st.builds(Change, **_ASPECTS)
)
_splits = st.lists(st.floats(0, 1), max_size=3)


def outcome(port: int, subject: Any, server: str, changes: list[Change], splits: list[float]) -> Any:
    """What a server answers to requests on one connection, and what that changes."""
    requests = b"".join(change.write(subject.fresh(server)) for change in changes) + CLOSING
    places = sorted({round(split * len(requests)) for split in splits})
    pieces = [requests[start:end] for start, end in zip([0, *places], [*places, None], strict=True)]
    received = converse(port, [piece for piece in pieces if piece])
    # Names of agents that join, by server and number.
    return answers_of(re.sub(rb"[fs]\d{6}\b", b"x000000", received)), subject.effect()


# By hand: hypothesis marks only what it decorates itself.
@pytest.mark.hypothesis
@pytest.mark.parametrize("make", [Heartbeats, Joins, Reads])
def test_random_requests_are_answered_as_without_fast_paths(live, ordinary, make):
    subject = make()
    # Every worker knows the token, and answers by its fast path.
    for _ in range(12):
        converse(live.port, [subject.fresh("w").write() + CLOSING])

    @examples(9, nightly=350)
    @given(changes=st.lists(_changes, min_size=1, max_size=3), splits=_splits)
    def answers_are_the_same(changes: list[Change], splits: list[float]) -> None:
        fast = outcome(live.port, subject, "f", changes, splits)
        slow = outcome(ordinary.port, subject, "s", changes, splits)

        note(f"with fast paths: {fast}\nwithout: {slow}")
        assert fast == slow

    answers_are_the_same()
