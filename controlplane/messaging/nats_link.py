"""One live connection to NATS, for the event loop: many calls share one subject for their responses.

It does not reconnect, and nothing that it could not send is sent later: a delete may have followed meanwhile.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import socket
import struct
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import Any

import nats
from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import Error as NatsError

from controlplane.messaging.nats_types import (
    CANNOT_STORE,
    NO_STREAM,
    NOT_CONFIRMED,
    UNREACHABLE,
    NatsRefused,
    NatsUnavailable,
    ToPublish,
)

Response = Callable[[Msg], None]
# A silent connection is noticed within three times this long, if nobody notices earlier.
_PING_SECONDS = 10
# `err_code` for a message that exceeds the stream's limit.
_TOO_LARGE = 10054


class Link:
    """A connection and the calls that wait for responses."""

    def __init__(self, client: Client) -> None:
        self.client = client
        self.lost = asyncio.Event()
        self._prefix = f"{client.new_inbox()}."
        self._waiting: dict[str, Response] = {}
        self._numbers = count()

    async def open(self) -> None:
        await self.client.subscribe(
            f"{self._prefix}*", cb=self._respond, pending_msgs_limit=1 << 20, pending_bytes_limit=1 << 28
        )

    async def _respond(self, message: Msg) -> None:
        response = self._waiting.get(message.subject[len(self._prefix) :])
        if response is not None:
            response(message)

    @contextlib.contextmanager
    def responses(self, response: Response) -> Any:
        """Yield a subject; each message to it is given to `response` until the end of the block."""
        token = str(next(self._numbers))
        self._waiting[token] = response
        try:
            yield self._prefix + token
        finally:
            del self._waiting[token]

    async def call(
        self, subject: str, body: bytes, timeout: float, headers: Mapping[str, str] | None = None
    ) -> Msg:
        """Return the first response. Raises NatsUnavailable; after a timeout, the connection is dropped."""
        answer: asyncio.Future[Msg] = asyncio.get_running_loop().create_future()

        def respond(message: Msg) -> None:
            if not answer.done():
                answer.set_result(message)

        with self.responses(respond) as reply:
            await self.send(subject, body, reply, headers)
            if not await self.wait(answer, timeout):
                self.drop()
                raise NatsUnavailable(NOT_CONFIRMED)
        return answer.result()

    async def send(
        self, subject: str, body: bytes, reply: str = "", headers: Mapping[str, str] | None = None
    ) -> None:
        try:
            await self.client.publish(subject, body, reply, headers=dict(headers) if headers else None)
        except (NatsError, OSError) as error:
            raise NatsUnavailable(f"{type(error).__name__}: {error}") from error

    async def wait(self, done: asyncio.Future[Any], timeout: float) -> bool:
        """Wait for `done`; return whether it came in time. Raises NatsUnavailable without a connection."""
        lost = asyncio.ensure_future(self.lost.wait())
        try:
            await asyncio.wait({done, lost}, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
        finally:
            lost.cancel()
        if self.lost.is_set() and not done.done():
            raise NatsUnavailable(UNREACHABLE)
        return done.done()

    async def publish(self, messages: Sequence[ToPublish], timeout: float) -> list[str]:
        """Send messages in their order and wait for all confirmations; return an error for each, or ""."""
        publication = _Publication(len(messages))
        tokens = [str(next(self._numbers)) for _ in messages]
        self._waiting.update((token, publication.response(place)) for place, token in enumerate(tokens))
        try:
            for place, (message, token) in enumerate(zip(messages, tokens, strict=True)):
                headers = {"Nats-Msg-Id": message.message_id, **message.headers}
                try:
                    await self.client.publish(
                        message.subject, message.body, self._prefix + token, headers=headers
                    )
                except (NatsError, ValueError, OSError) as error:
                    publication.note(place, _reason(self.client, error))
            with contextlib.suppress(NatsUnavailable):
                if not await self.wait(publication.done, timeout):
                    self.drop()
        finally:
            for token in tokens:
                del self._waiting[token]
        return publication.errors

    def drop(self) -> None:
        """End the connection; what it has not sent yet is discarded."""
        self.lost.set()
        writer = getattr(getattr(self.client, "_transport", None), "_io_writer", None)
        if writer is None:
            return
        with contextlib.suppress(OSError):
            # Linger for 0 s: the kernel discards its buffer, too.
            writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
            )
        writer.transport.abort()


class _Publication:
    """The errors of messages that were sent together, and the end of it."""

    def __init__(self, number: int) -> None:
        self.errors = [NOT_CONFIRMED] * number
        self.done: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._open = number
        if not number:
            self.done.set_result(None)

    def response(self, place: int) -> Response:
        return lambda message: self.note(place, _refusal(message))

    def note(self, place: int, error: str) -> None:
        self.errors[place] = error
        self._open -= 1
        if self._open == 0 and not self.done.done():
            self.done.set_result(None)


def _refusal(message: Msg) -> str:
    if is_no_responders(message):
        return NO_STREAM
    if b'"error"' not in message.data:
        return ""
    try:
        read_answer(message)
    except NatsRefused as error:
        about_message = error.code == _TOO_LARGE or "per subject" in str(error)
        return f"NATS refused the message: {error}." if about_message else f"{CANNOT_STORE}{error}."
    return ""


def _reason(client: Client, error: Exception) -> str:
    if client.is_closed or isinstance(error, OSError):
        return UNREACHABLE
    return f"NATS cannot take the message: {error or type(error).__name__}."


def is_no_responders(message: Msg) -> bool:
    return bool(message.headers and message.headers.get("Status") == "503")


def read_answer(message: Msg) -> dict[str, Any]:
    """Return the answer of JetStream's API. Raises NatsRefused, NatsUnavailable."""
    if is_no_responders(message):
        raise NatsUnavailable("JetStream does not answer.")
    answer: dict[str, Any] = json.loads(message.data)
    if "error" in answer:
        error = answer["error"]
        raise NatsRefused(int(error.get("err_code", 0)), str(error.get("description", "unknown error")))
    return answer


async def connect(url: str, name: str, *, timeout: float) -> Link:
    """Connect once. Raises NatsUnavailable."""
    made: list[Link] = []

    async def note_loss() -> None:
        for link in made:
            link.lost.set()

    servers = url.split(",")
    try:
        client = await asyncio.wait_for(
            nats.connect(
                servers,
                name=name,
                # A machine that is gone does not answer at all: the others get their turn in time.
                connect_timeout=timeout / len(servers),
                allow_reconnect=False,
                ping_interval=_PING_SECONDS,
                error_cb=_ignore,
                closed_cb=note_loss,
            ),
            timeout,
        )
        made.append(Link(client))
        await made[0].open()
    except (NatsError, OSError, TimeoutError) as error:
        raise NatsUnavailable(f"{type(error).__name__}: {error}") from error
    if client.is_closed:
        raise NatsUnavailable(UNREACHABLE)
    return made[0]


async def _ignore(error: Exception) -> None:
    """Ignore the error, which `connect` raises too; the client's default would also log it."""


async def cancel_other_tasks() -> None:
    """Cancel the other tasks of this loop; more than once, since the client can lose a cancellation."""
    for _ in range(3):
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks, timeout=1)
