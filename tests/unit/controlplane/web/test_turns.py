"""Whose requests are answered first if some connections sent very many."""

from __future__ import annotations

import asyncio

from controlplane.web.pipelining import end_of_body, end_of_request
from controlplane.web.turns import SHARE, Turns

GET = b"GET / HTTP/1.1\r\nHost: h\r\n\r\n"
POST = b"POST / HTTP/1.1\r\nContent-Length: 6\r\n\r\na\r\n\r\nb"


class Flooder:
    """A connection that has always more to parse."""

    def __init__(self, turns, taken):
        self.turns, self.taken, self.busy = turns, taken, False

    def is_busy(self):
        return self.busy

    def take_turn(self, most):
        self.taken.append(self)
        self.turns.add(self, is_late=True)
        return most


def test_late_connections_take_turns_one_request_each_while_others_send():
    async def run():
        taken = []
        turns = Turns(asyncio.get_running_loop())
        flooders = [Flooder(turns, taken) for _ in range(3)]
        for flooder in flooders:
            turns.add(flooder, is_late=True)
            turns.add(flooder, is_late=True)
        while len(taken) < 9:
            turns.has_new = True
            served = len(taken)
            await asyncio.sleep(0)
            assert len(taken) <= served + 1

        assert taken[:9] == flooders * 3

    asyncio.run(run())


def test_a_late_request_that_is_not_answered_yet_keeps_the_next_waiting():
    async def run():
        taken = []
        turns = Turns(asyncio.get_running_loop())
        first, second = Flooder(turns, taken), Flooder(turns, taken)
        first.busy = True
        turns.add(first, is_late=True)
        turns.add(second, is_late=True)
        for _ in range(20):
            turns.has_new = True
            await asyncio.sleep(0.002)
        assert taken == [first]

        first.busy = False
        while len(taken) < 2:
            turns.has_new = True
            await asyncio.sleep(0.002)

        assert taken[1] is second

    asyncio.run(run())


def test_who_is_alone_does_not_wait_for_pauses():
    async def run():
        taken = []
        turns = Turns(asyncio.get_running_loop())
        turns.add(Flooder(turns, taken), is_late=True)
        while len(taken) < 100:
            await asyncio.sleep(0)
        # From now on it has each turn of the event loop.
        before = len(taken)
        await asyncio.sleep(0)
        await asyncio.sleep(0)

        assert len(taken) > before

    asyncio.run(run())


def test_a_share_is_enough_for_sixteen_requests_with_bodies():
    assert SHARE >= 2 * 16


def test_requests_are_parted_where_they_end():
    data = POST + GET + POST[:-3]
    ends = []
    while not ends or ends[-1] < len(data):
        ends.append(end_of_request(data, ends[-1] if ends else 0))

    assert ends == [len(POST), len(POST + GET), len(data)]


def test_a_body_ends_by_its_length_or_like_a_head():
    length, chunked = [(b"content-length", b"10")], [(b"transfer-encoding", b"chunked")]

    assert end_of_body(b"\r\n\r\n45" + GET, 0, length, read=4) == 6
    assert end_of_body(b"45", 0, length, read=4) == 2
    assert end_of_body(b"1\r\nx\r\n0\r\n\r\n" + GET, 0, chunked, read=4) == 11
    assert end_of_body(b"1\r\nx\r\n", 0, chunked, read=4) == 6
