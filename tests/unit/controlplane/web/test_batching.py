"""Natural batching: one batch after the other, each with all that came meanwhile."""

from __future__ import annotations

import asyncio

from controlplane.web import batching
from controlplane.web.batching import NaturalBatches


class Worker:
    """Doubles numbers, one batch at a time when it is told to go on."""

    def __init__(self, **options) -> None:
        self.batches: list[list[int]] = []
        self.go_on = asyncio.Semaphore(0)
        options = {"most": 100, "patience": 1.0, "name": "test", **options}
        self.natural: NaturalBatches[int, int] = NaturalBatches(self.work, **options)

    async def work(self, numbers):
        self.batches.append(list(numbers))
        await self.go_on.acquire()
        if -1 in numbers:
            raise OSError("planted")
        return [None if number == 0 else 2 * number for number in numbers]

    def ask(self, *numbers: int) -> list[asyncio.Task[int | None]]:
        return [asyncio.get_running_loop().create_task(self.natural.ask(number)) for number in numbers]


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, 10))


async def settle() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_comes_while_a_batch_is_under_way_forms_the_next():
    async def story():
        worker = Worker()
        first = worker.ask(1, 2)
        await settle()
        later = worker.ask(3, 0, 4)
        await settle()
        assert worker.batches == [[1, 2]]
        worker.go_on.release()
        worker.go_on.release()
        assert await asyncio.gather(*first, *later) == [2, 4, 6, None, 8]
        assert worker.batches == [[1, 2], [3, 0, 4]]

    run(story())


def test_a_batch_has_no_more_than_the_most():
    async def story():
        worker = Worker(most=2)
        asked = worker.ask(1, 2, 3, 4, 5)
        for _ in range(3):
            worker.go_on.release()
        assert await asyncio.gather(*asked) == [2, 4, 6, 8, 10]
        assert worker.batches == [[1, 2], [3, 4], [5]]

    run(story())


def test_as_many_batches_are_under_way_as_there_are_workers():
    async def story():
        worker = Worker(workers=2)
        asked = []
        for number in (1, 2, 3):
            asked += worker.ask(number)
            await settle()
        assert worker.batches == [[1], [2]]
        for _ in range(3):
            worker.go_on.release()
        assert await asyncio.gather(*asked) == [2, 4, 6]

    run(story())


def test_a_batch_that_fails_is_left_to_others_and_so_is_what_comes_at_once_after_it(monkeypatch):
    monkeypatch.setattr(batching, "PAUSE_SECONDS", 0.05)

    async def story():
        worker = Worker()
        asked = worker.ask(1, -1)
        worker.go_on.release()
        assert await asyncio.gather(*asked) == [None, None]
        assert await worker.natural.ask(1) is None
        assert worker.batches == [[1, -1]]
        await asyncio.sleep(0.06)
        worker.go_on.release()
        assert await worker.natural.ask(1) == 2

    run(story())


def test_a_batch_that_takes_too_long_is_cancelled_and_left_to_others():
    async def story():
        worker = Worker(patience=0.05)
        assert await worker.natural.ask(1) is None

    run(story())


def test_a_client_that_left_hinders_nobody():
    async def story():
        worker = Worker()
        gone, stays = worker.ask(1, 2)
        await settle()
        gone.cancel()
        worker.go_on.release()
        assert await stays == 4
        worker.go_on.release()
        assert await worker.natural.ask(3) == 6

    run(story())


def test_a_question_that_comes_as_the_last_batch_ends_is_answered():
    async def story():
        worker = Worker()
        for number in range(1, 200):
            worker.go_on.release()
            # The worker's task is done, and its callback has not run yet.
            assert await worker.natural.ask(number) == 2 * number

    run(story())


def test_closing_waits_for_what_is_under_way():
    async def story():
        worker = Worker()
        asked = worker.ask(1)
        await settle()
        closing = asyncio.get_running_loop().create_task(worker.natural.close())
        await settle()
        assert not closing.done()
        worker.go_on.release()
        await closing
        assert await asyncio.gather(*asked) == [2]

    run(story())
