"""RESP2 requests from bytes, and allocation tokens of propeller."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from controlplane.errors import InvalidScope, MalformedBody
from controlplane.pools.redis_door.allocation_tokens import pool_of, scope_of, token_of
from controlplane.pools.redis_door.protocol import CommandReader, error, integer
from controlplane.scopes import Scope


def encoded(*parts: bytes) -> bytes:
    return b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(part), part) for part in parts)


@given(
    commands=st.lists(st.lists(st.binary(max_size=40), min_size=1, max_size=4), max_size=4),
    sizes=st.lists(st.integers(1, 30), min_size=1, max_size=50),
)
def test_commands_are_read_however_their_bytes_arrive(commands, sizes):
    data = b"".join(encoded(*command) for command in commands)
    reader, found, place = CommandReader(), [], 0
    for size in [*sizes, len(data)]:
        found += reader.feed(data[place : place + size])
        place += size
    assert found == commands


@pytest.mark.parametrize(
    "data",
    [
        b"*9\r\n",
        b"*99999999999999999\r\n",
        b"*-1\r\n",
        b"*2\r\n:5\r\n",
        b"*1\r\n$4097\r\n",
        b"*1\r\n$2\r\nabcd\r\n",
        b"x" * 5000,
    ],
)
def test_what_is_no_command_is_refused_before_it_is_stored(data):
    with pytest.raises(MalformedBody):
        CommandReader().feed(data)


@given(st.binary(max_size=200))
def test_no_bytes_break_the_reader(data):
    with contextlib.suppress(MalformedBody):
        CommandReader().feed(data)


def test_inline_commands_are_read():
    assert CommandReader().feed(b"PING\r\nQUIT\r\n") == [[b"PING"], [b"QUIT"]]


def test_replies():
    assert integer(1) == b":1\r\n"
    assert error("ERR", "two\r\nlines") == b"-ERR two lines\r\n"


@pytest.mark.parametrize(
    ("token", "scope"),
    [
        ("ex:shop:prod:f1a2-n0-0", Scope("prod", "shop")),
        ("ex:my-shop:my-domain:name-with-dashes-a:b:c", Scope("my-domain", "my-shop")),
        ("ex:shop:prod", Scope()),
        ("ex::prod:x", Scope()),
        ("other", Scope()),
    ],
)
def test_the_scope_of_a_token(token, scope):
    assert scope_of(token) == scope


def test_a_project_is_not_one_with_a_longer_name():
    assert scope_of("ex:proj:prod:x") != scope_of("ex:project2:prod:x")


def test_the_pool_of_a_key():
    assert pool_of(b"redisresourcemanager:agent-service:default") == "agent-service:default"
    assert pool_of(b"sessions") is None


@pytest.mark.parametrize("member", [b"", b"a\nb", b"x" * 513])
def test_what_no_token_can_be_is_refused(member):
    with pytest.raises(InvalidScope):
        token_of(member)
