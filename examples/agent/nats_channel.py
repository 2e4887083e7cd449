"""Requests and answers over NATS, with the agent's own login. Needs nats-py."""

from __future__ import annotations

import asyncio
import http.client
import json
import logging
import threading
from collections.abc import Callable
from typing import Any

import nats
from control_plane import ControlPlane, Refused
from nats.errors import Error as NatsError
from work import Work

_BATCH, _FETCH_SECONDS, _PAUSE_SECONDS = 10, 5.0, 2.0
log = logging.getLogger("agent")


class NatsChannel:
    """Like HttpsChannel. A request is acknowledged to NATS once it is in the agent's memory."""

    def __init__(self, plane: ControlPlane, work: Work, agent_id: Callable[[], str]) -> None:
        self.plane, self.work, self.agent_id = plane, work, agent_id
        self.stopping, self.closed = threading.Event(), threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()), daemon=True, name="nats")

    def start(self) -> None:
        self._thread.start()

    def stop_fetching(self) -> None:
        self.stopping.set()

    def close(self, seconds: float) -> None:
        """Send the answers that are left, for at most this long."""
        self.closed.set()
        self._thread.join(seconds)

    async def _run(self) -> None:
        while not self._is_done():
            if not self.agent_id():
                await asyncio.sleep(0.2)
                continue
            try:
                login = await asyncio.to_thread(
                    self.plane.call, "POST", f"agents/{self.agent_id()}:issue-nats-login"
                )
                await self._work_with(login)
            except (Refused, NatsError, OSError, http.client.HTTPException, ValueError) as error:
                log.warning("no connection to NATS (%s); again in %.0f s", error, _PAUSE_SECONDS)
                await asyncio.sleep(_PAUSE_SECONDS)

    async def _work_with(self, login: dict[str, Any]) -> None:
        """Fetch and answer until the connection is closed for good, such as by a newer login."""
        connection = await nats.connect(
            login["url"],
            user=login["user"],
            password=login["password"],
            inbox_prefix=login["inbox_prefix"].encode(),
            max_reconnect_attempts=-1,
            error_cb=_log_error,
        )
        try:
            stream = connection.jetstream()
            tasks = [
                self._fetch(connection, await stream.pull_subscribe_bind(consumer, login["stream"]))
                for consumer in (login["cancel_consumer"], login["consumer"])
            ]
            await asyncio.gather(*tasks, self._send(connection, stream, login["response_subject"]))
        finally:
            await connection.close()

    async def _fetch(self, connection: Any, consumer: Any) -> None:
        while not self.stopping.is_set() and not connection.is_closed:
            try:
                messages = await consumer.fetch(_BATCH, timeout=_FETCH_SECONDS)
            except TimeoutError:
                continue
            requests = [_request(one) for one in messages]
            await asyncio.to_thread(self.work.accept, requests)
            for message in messages:
                await message.ack()

    async def _send(self, connection: Any, stream: Any, subject: str) -> None:
        memory = self.work.memory
        while not self._is_done() and not connection.is_closed:
            if not memory.outgoing:
                await asyncio.sleep(0.05)
                continue
            event = memory.outgoing[0]
            body = json.dumps({**event, "subject": subject}).encode()
            trace = {"traceparent": event["traceparent"]} if event.get("traceparent") else {}
            await stream.publish(subject, body, timeout=5, headers={"Nats-Msg-Id": event["id"], **trace})
            with memory.changes():
                memory.outgoing.pop(0)

    def _is_done(self) -> bool:
        return self.closed.is_set() and not self.work.memory.outgoing


def _request(message: Any) -> dict[str, Any]:
    """Return the request of a message. The header names the trace as the relay continued it."""
    headers, event = message.headers or {}, json.loads(message.data)
    if headers.get("traceparent"):
        event["traceparent"] = headers["traceparent"]
    return {"message_id": headers.get("Nats-Msg-Id", ""), "event": event}


async def _log_error(error: Exception) -> None:
    log.warning("NATS: %s", error)
