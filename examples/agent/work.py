"""What the agent does with requests: it calls providers, holds requests, and answers each one."""

from __future__ import annotations

import logging
import threading
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import provider_calls
from provider_calls import ProviderFailed
from statuses import Statuses, make_event
from work_file import WorkFile

CREATE, DELETE, CANCEL = "dcm.request.create", "dcm.request.delete", "dcm.request.cancel"
MOST_AT_ONCE = 8
POLL_SECONDS = 1.0
# Cancellations that are remembered, in case the request itself comes later.
_MOST_CANCELLED = 10_000
log = logging.getLogger("agent")

Request = dict[str, Any]


class Work:
    """name: of the agent. find_provider: gives the endpoint and the health of a service type, or None.

    Requests for one resource are handled one after the other. Each change of the memory is on the disk before
    the answer about it leaves, so that a killed process continues where it stopped.
    """

    def __init__(
        self,
        name: str,
        memory: WorkFile,
        find_provider: Callable[[str], tuple[str, bool] | None],
        poll_seconds: float = POLL_SECONDS,
    ) -> None:
        self.name, self.memory, self.find_provider = name, memory, find_provider
        self.poll_seconds = poll_seconds
        self.stopping, self.unsent = threading.Event(), threading.Event()
        self.statuses = Statuses(name, memory, self.unsent)
        self._pool = ThreadPoolExecutor(MOST_AT_ONCE, thread_name_prefix="request")
        # Keys of the requests of each resource, in order: only the first is handled.
        self._lanes: dict[str, deque[str]] = {}
        self._running: set[str] = set()
        self._changed = threading.Condition()
        self._poller = threading.Thread(target=self._poll, daemon=True, name="statuses")

    def start(self) -> None:
        """Go on with what an earlier process accepted, and begin to watch resources and held requests."""
        self._submit(list(self.memory.accepted.items()))
        self._poller.start()
        if self.memory.outgoing:
            self.unsent.set()

    def stop(self, seconds: float) -> bool:
        """Finish what runs; held requests stay in the memory. Return False if something still runs."""
        self.stopping.set()
        self._pool.shutdown(wait=False, cancel_futures=True)
        with self._changed:
            self._changed.notify_all()
            has_finished = self._changed.wait_for(lambda: not self._running, seconds)
        # It writes the memory too, which another process may read from now on.
        if self._poller.is_alive():
            self._poller.join(seconds)
        return has_finished and not self._poller.is_alive()

    def accept(self, requests: list[Request]) -> None:
        """Take over requests: {"message_id", "event"}. Once this returns, they are not lost.

        While the agent stops, they are only kept for the next process.
        """
        fresh: list[tuple[str, Request]] = []
        with self.memory.changes() as memory:
            for request in requests:
                key = _key(request["event"])
                is_known = key in memory.accepted
                memory.accepted[key] = request
                if not is_known:
                    fresh.append((key, request))
        self._submit(fresh)

    def has_work(self) -> bool:
        """True if something is left for the next process."""
        return bool(self.memory.resources or self.memory.held or self.memory.accepted)

    def _submit(self, requests: list[tuple[str, Request]]) -> None:
        for key, request in requests:
            with self._changed:
                self._lanes.setdefault(_lane(request), deque()).append(key)
            with suppress(RuntimeError):  # it stops
                self._pool.submit(self._handle, key, request)

    def _handle(self, key: str, request: Request) -> None:
        lane = _lane(request)
        with self._changed:
            self._changed.wait_for(lambda: self.stopping.is_set() or self._lanes[lane][0] == key)
            if self.stopping.is_set():
                return
            self._running.add(key)
        try:
            self._obey(key, request)
        except Exception:
            # It stays accepted; the next process tries again.
            log.exception("cannot handle %s", key)
        finally:
            with self._changed:
                self._running.discard(key)
                self._lanes[lane].popleft()
                if not self._lanes[lane]:
                    del self._lanes[lane]
                self._changed.notify_all()

    def _obey(self, key: str, request: Request) -> None:
        kind = request["event"]["type"]
        handler = {CREATE: self._create, DELETE: self._delete, CANCEL: self._cancel}.get(kind)
        if handler is None:
            self._finish(key, request, "error", error="INVALID_PAYLOAD", details=f"Unknown type {kind}.")
        else:
            handler(key, request)

    def _create(self, key: str, request: Request) -> None:
        event, data = request["event"], request["event"]["data"]
        if _attempt(data) in self.memory.cancelled:
            self._finish(key, request, "cancel-acknowledged", service_type=data["service_type"])
            return
        provider = self._usable(key, request)
        if provider is None:
            return
        with self.memory.changes() as memory:
            known = memory.resources.setdefault(data["resource_id"], {"status": "", "is_deleting": False})
            known |= {"service_type": data["service_type"], "epoch": data.get("epoch"), "endpoint": provider}
        try:
            provider_calls.create(provider, data["resource_id"], data.get("spec"), event["id"], self.stopping)
        except ProviderFailed as failed:
            self._fail(key, request, failed)
            return
        self._finish(key, request, "creation-acknowledged", status="PROVISIONING")

    def _delete(self, key: str, request: Request) -> None:
        event, data = request["event"], request["event"]["data"]
        resource_id = data["resource_id"]
        if self._drop_held(resource_id) and resource_id not in self.memory.resources:
            self._finish(key, request, "deletion-acknowledged", status="DELETED")
            return
        provider = self._usable(key, request)
        if provider is None:
            return
        with self.memory.changes() as memory:
            known = memory.resources.setdefault(resource_id, {"status": "", "epoch": data.get("epoch")})
            known |= {"service_type": data["service_type"], "endpoint": provider, "is_deleting": True}
            # The deletion of an attempt is answered for that attempt.
            known["epoch"] = data.get("epoch", known.get("epoch"))
        try:
            provider_calls.delete(provider, resource_id, event["id"], self.stopping)
        except ProviderFailed as failed:
            self._fail(key, request, failed)
            return
        self._finish(key, request, "deletion-acknowledged", status="DELETING")
        self.statuses.look_at(resource_id)

    def _cancel(self, key: str, request: Request) -> None:
        data = request["event"]["data"]
        resource_id = data["resource_id"]
        is_held = self._drop_held(resource_id)
        if not is_held and self._has(resource_id, data.get("epoch")):
            self._finish(key, request, "cancel-rejected", reason="It was sent to the provider.")
            return
        with self.memory.changes() as memory:
            memory.cancelled = [*memory.cancelled, _attempt(data)][-_MOST_CANCELLED:]
        self._finish(key, request, "cancel-acknowledged", service_type=data["service_type"])

    def _has(self, resource_id: str, epoch: Any) -> bool:
        known = self.memory.resources.get(resource_id)
        return known is not None and known.get("epoch") == epoch

    def _drop_held(self, resource_id: str) -> bool:
        """Forget a held creation of the resource; True if there was one."""
        with self.memory.changes() as memory:
            before = len(memory.held)
            memory.held = [
                one
                for one in memory.held
                if (one["event"]["type"], one["event"]["data"]["resource_id"]) != (CREATE, resource_id)
            ]
            return len(memory.held) < before

    def _usable(self, key: str, request: Request) -> str | None:
        """Return the endpoint of the healthy provider; else hold or refuse the request."""
        service_type = request["event"]["data"].get("service_type", "")
        provider = self.find_provider(service_type)
        if provider is None:
            details = f"No provider of {service_type} is registered here."
            self._finish(key, request, "error", error="UNSUPPORTED_SERVICE_TYPE", details=details)
            return None
        endpoint, is_healthy = provider
        if not is_healthy:
            self._hold(key, request)
            return None
        return endpoint

    def _hold(self, key: str, request: Request) -> None:
        with self.memory.changes() as memory:
            if not any(_key(one["event"]) == key for one in memory.held):
                memory.held.append(request)
            self._finish(
                key, request, "request-queued", service_type=request["event"]["data"]["service_type"],
                status="QUEUED",
            )  # fmt: skip

    def _fail(self, key: str, request: Request, failed: ProviderFailed) -> None:
        if failed.retryable and self.stopping.is_set():
            # The next process goes on with it.
            return
        provider = self.find_provider(request["event"]["data"]["service_type"])
        if failed.retryable and provider and not provider[1]:
            self._hold(key, request)
            return
        code = "RETRY_EXHAUSTED" if failed.retryable else "NON_RETRYABLE_SP_ERROR"
        if request["event"]["type"] == CREATE and not failed.retryable:
            with self.memory.changes() as memory:
                memory.resources.pop(request["event"]["data"]["resource_id"], None)
        self._finish(key, request, "error", error=code, details=str(failed))

    def _finish(self, key: str, request: Request, kind: str, **more: Any) -> None:
        """Store the answer, and that the request needs no more work, in one step."""
        data = request["event"]["data"]
        with self.memory.changes() as memory:
            # A repetition that came meanwhile has another message id.
            latest = memory.accepted.pop(key, request)
            answer = {
                "resource_id": data.get("resource_id", ""),
                "agent_name": self.name,
                "epoch": data.get("epoch"),
                "message_id": latest["message_id"],
                **more,
            }
            trace = str(request["event"].get("traceparent", ""))
            memory.outgoing.append(make_event(self.name, f"dcm.agent.{kind}", answer, trace))
        log.info("%s: %s%s", key, kind, f" (trace {trace[3:35]})" if trace else "")
        self.unsent.set()

    def _poll(self) -> None:
        """Report changes of resources, and take up held requests once their provider is healthy."""
        while not self.stopping.wait(self.poll_seconds):
            try:
                self._take_up_held()
            except OSError:
                # Such as a full disk, which has space again later.
                log.exception("cannot take up held requests")
            for resource_id in list(self.memory.resources):
                try:
                    self.statuses.look_at(resource_id)
                except Exception:
                    log.exception("cannot report %s", resource_id)

    def _take_up_held(self) -> None:
        ready: list[tuple[str, Request]] = []
        with self.memory.changes() as memory:
            for request in memory.held:
                provider = self.find_provider(request["event"]["data"]["service_type"])
                if provider is None or provider[1]:
                    ready.append((_key(request["event"]), request))
            memory.held = [one for one in memory.held if _key(one["event"]) not in dict(ready)]
            memory.accepted.update(ready)
        self._submit(ready)


def _lane(request: Request) -> str:
    """Requests with one lane are handled in order. A cancellation does not wait for what it cancels."""
    event = request["event"]
    resource_id = str(event["data"].get("resource_id", ""))
    return f"{resource_id} {CANCEL}" if event["type"] == CANCEL else resource_id


def _key(event: dict[str, Any]) -> str:
    return f"{event['type']} {event['id']}#{event['data'].get('epoch')}"


def _attempt(data: dict[str, Any]) -> str:
    return f"{data['resource_id']}#{data.get('epoch')}"
