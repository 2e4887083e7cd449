"""Two hundred long polls against the running server."""

from __future__ import annotations

import asyncio
import json
import re

from django.db import connection

from tests.support.api_client import Api, make_project, token_for
from tests.support.waiting import until

PLACE = "project=flytesnacks&domain=development"
COUNT = 200


class Waiters:
    """Long polls, each of one workflow, on connections of their own."""

    def __init__(self, port: int, tokens: list[str]) -> None:
        self._port, self._tokens = port, tokens
        self.answers: dict[int, tuple[int, str]] = {}
        self.waiting = 0

    async def run(self, change) -> None:
        """change: coroutine function that is run while all wait."""
        polls = [asyncio.create_task(self._poll(number)) for number in range(COUNT)]
        while self.waiting < COUNT:
            await asyncio.sleep(0.02)
        await change()
        await asyncio.gather(*polls)

    async def _poll(self, number: int) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        path = f"/api/v1/overrides/effective?{PLACE}&workflow=w{number}"
        etag = (await self._ask(reader, writer, path, number))[1]
        request = self._ask(reader, writer, f"{path}&wait=60", number, f"If-None-Match: {etag}\r\n")
        self.waiting += 1
        status, _, body = await request
        self.answers[number] = (status, body)
        writer.close()

    async def _ask(self, reader, writer, path, number, more="") -> tuple[int, str, str]:
        token = self._tokens[number % len(self._tokens)]
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\n{more}\r\n"
        writer.write(head.encode())
        answer = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = re.search(r"(?im)^content-length: (\d+)", answer)
        body = await reader.readexactly(int(length[1]) if length else 0)
        return int(answer.split()[1]), re.findall(r'(?im)^etag: (".*")', answer)[0], body.decode()


def test_one_write_wakes_exactly_those_whose_answer_changes(live):
    make_project()
    api = Api(token_for("admin"))
    # A principal may have a hundred in each worker, and the kernel chooses the worker.
    waiters = Waiters(live.port, [token_for("viewer") for _ in range(3)])

    def put(query: str) -> None:
        body = {"attributes": {"max_parallelism": 7}}
        assert api.put(f"overrides/workflow_execution_config?{PLACE}{query}", body).status_code == 201

    def answered(count: int) -> set[int]:
        until(lambda: len(waiters.answers) >= count)
        return set(waiters.answers)

    def change() -> None:
        put("&workflow=w7")
        assert answered(1) == {7}
        put("&workflow=w8&launch_plan=lp")
        put("&workflow=w9")
        assert answered(2) == {7, 9}
        put("")
        assert answered(COUNT) == set(range(COUNT))
        connection.close()

    asyncio.run(waiters.run(lambda: asyncio.to_thread(change)))

    assert {status for status, _ in waiters.answers.values()} == {200}
    bodies = [json.loads(body)["items"][0]["attributes"] for _, body in waiters.answers.values()]
    assert bodies == [{"max_parallelism": 7}] * COUNT
