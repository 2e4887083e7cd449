"""A Kubernetes API server as far as ConfigMaps and Events go: real HTTP, real versions, and faults on order.

It lists in pages, watches with bookmarks, forgets its past when it is compacted, and says so in both forms.
"""

from __future__ import annotations

import json
import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

TOKEN = "the-watchers-token"
PREFIX = "flyteplugins-agentservice-"
BOOKMARK_SECONDS = 0.2


@dataclass
class Fault:
    """What goes wrong with the next request of a kind: `list`, `watch` or `event`.

    status: it is refused. raw: a watch's next bytes, after which its connection is cut. delay: before the
    answer. items: the list holds only these. body: the whole answer.
    """

    on: str
    status: int = 0
    headers: dict[str, str] = field(default_factory=dict)
    raw: bytes = b""
    delay: float = 0.0
    items: list | None = None
    body: bytes | None = None


class FakeKubernetes:
    def __init__(self, kubeconfig: Path) -> None:
        self.lock = threading.Condition()
        self.objects: dict[tuple[str, str], dict] = {}
        self.log: list[tuple[int, str, dict]] = []
        self.version = 100
        self.oldest = 0
        self.faults: deque[Fault] = deque()
        self.requests: list[tuple[str, str, dict[str, str]]] = []
        self.events: dict[tuple[str, str], dict] = {}
        self.bookmarks = True
        # Both forms of 410: refused at once, or a line of the stream.
        self.expires_in_stream = True
        # Cuts all watches that are under way whenever it changes.
        self.cuts = 0
        self.page_size = 500
        # A list has all its pages of one version.
        self.snapshots: dict[tuple[str, str], list[dict]] = {}
        self.is_down = False
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self.server.daemon_threads = True
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self.thread.start()
        self.kubeconfig = kubeconfig
        kubeconfig.write_text(_kubeconfig(self.server.server_port))

    def close(self) -> None:
        with self.lock:
            self.is_down = True
            self.cuts += 1
            self.lock.notify_all()
        self.server.shutdown()
        self.server.server_close()

    def apply(self, namespace: str, name: str, text: str, **labels: str) -> dict:
        """Create it, or change its data."""
        with self.lock:
            key = (namespace, PREFIX + name)
            existing = self.objects.get(key)
            self.version += 1
            metadata = {
                "name": PREFIX + name,
                "namespace": namespace,
                "uid": existing["metadata"]["uid"] if existing else f"uid-{self.version}",
                "resourceVersion": str(self.version),
                "creationTimestamp": existing["metadata"]["creationTimestamp"]
                if existing
                else f"2026-01-01T00:{self.version // 60 % 60:02}:{self.version % 60:02}Z",
                "labels": labels,
                "managedFields": [{"manager": "kubectl", "time": str(self.version)}],
            }
            made = {"metadata": metadata, "data": {"agents.yaml": text}}
            self.objects[key] = made
            self._note("MODIFIED" if existing else "ADDED", made)
            return made

    def delete(self, namespace: str, name: str) -> None:
        with self.lock:
            gone = self.objects.pop((namespace, PREFIX + name), None)
            if gone is None:
                return
            self.version += 1
            gone = {**gone, "metadata": {**gone["metadata"], "resourceVersion": str(self.version)}}
            self._note("DELETED", gone)

    def touch(self) -> None:
        """Something else happens in the cluster."""
        with self.lock:
            self.version += 1
            self.lock.notify_all()

    def compact(self) -> None:
        """Forget what happened: whoever did not see it must list."""
        with self.lock:
            self.version += 1
            self.oldest = self.version
            self.log.clear()

    def cut(self) -> None:
        """Every watch under way loses its connection."""
        with self.lock:
            self.cuts += 1
            self.lock.notify_all()

    def fail(self, on: str, times: int = 1, **how: Any) -> None:
        with self.lock:
            self.faults.extend(Fault(on, **how) for _ in range(times))

    def heal(self) -> None:
        with self.lock:
            self.faults.clear()

    def count(self, on: str) -> int:
        with self.lock:
            return sum(1 for kind, _, _ in self.requests if kind == on)

    @contextmanager
    def down(self):
        """Every connection is cut without an answer."""
        self.is_down = True
        self.cut()
        try:
            yield
        finally:
            self.is_down = False

    def take_fault(self, on: str) -> Fault | None:
        with self.lock:
            chosen_fault = next((fault for fault in self.faults if fault.on == on), None)
            if chosen_fault:
                self.faults.remove(chosen_fault)
            return chosen_fault

    def _note(self, kind: str, value: dict) -> None:
        self.log.append((self.version, kind, value))
        self.lock.notify_all()


def _kubeconfig(port: int) -> str:
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "clusters": [{"name": "test", "cluster": {"server": f"http://127.0.0.1:{port}"}}],
            "users": [{"name": "test", "user": {"token": TOKEN}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "test"}}],
        }
    )


def _fits(value: dict, namespace: str, selector: str) -> bool:
    if namespace and value["metadata"]["namespace"] != namespace:
        return False
    pairs = (part.split("=", 1) for part in selector.split(",") if part)
    return all(value["metadata"]["labels"].get(name) == expected for name, expected in pairs)


def _status(code: int, message: str, reason: str = "") -> bytes:
    status = {"kind": "Status", "code": code, "message": message, "reason": reason}
    return json.dumps(status).encode()


def _handler(fake: FakeKubernetes) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            query = {name: values[0] for name, values in parse_qs(parts.query).items()}
            path = parts.path.strip("/").split("/")
            namespace = path[3] if "namespaces" in path else ""
            kind = "watch" if query.get("watch") == "true" else "list"
            self._serve(kind, lambda fault: getattr(self, f"_{kind}")(namespace, query, fault), query)

        def do_POST(self) -> None:
            self._serve("event", self._create, {})

        def do_PATCH(self) -> None:
            self._serve("event", self._patch, {})

        def _serve(self, kind: str, answer: Callable[[Fault | None], None], query: dict[str, str]) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            self.body = json.loads(self.rfile.read(length)) if length else None
            with fake.lock:
                fake.requests.append((kind, self.path, query))
            fault = fake.take_fault(kind)
            self.close_connection = True
            if fake.is_down:
                return
            if fault and fault.delay:
                time.sleep(fault.delay)
            try:
                if self.headers.get("Authorization") != f"Bearer {TOKEN}":
                    self._send(401, _status(401, "Unauthorized", "Unauthorized"))
                elif fault and fault.status:
                    self._send(fault.status, _status(fault.status, "on order", "OnOrder"), fault.headers)
                elif fault and fault.body is not None:
                    self._send(200, fault.body)
                else:
                    answer(fault)
            except (BrokenPipeError, ConnectionResetError):
                pass

        def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None) -> None:
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.send_header("Connection", "close")
            self.end_headers()
            self.wfile.write(body)

        def _list(self, namespace: str, query: dict[str, str], fault: Fault | None) -> None:
            limit = min(int(query["limit"]), fake.page_size)
            with fake.lock:
                # Pages after the first are of the version that the first had.
                version, start = (query.get("continue") or f"{fake.version}:0").split(":")
                if int(version) < fake.oldest:
                    self._send(410, _status(410, "The provided continue parameter is too old", "Expired"))
                    return
                selector = query.get("labelSelector", "")
                if start == "0":
                    objects = sorted(fake.objects.items())
                    fake.snapshots[version, namespace] = [
                        value for _, value in objects if _fits(value, namespace, selector)
                    ]
                snapshot = fake.snapshots[version, namespace]
            if fault and fault.items is not None:
                snapshot = fault.items
            end = int(start) + limit
            more = f"{version}:{end}" if end < len(snapshot) else ""
            body = {
                "metadata": {"resourceVersion": version, "continue": more},
                "items": snapshot[int(start) : end],
            }
            self._send(200, json.dumps(body).encode())

        def _watch(self, namespace: str, query: dict[str, str], fault: Fault | None) -> None:
            version = int(query["resourceVersion"])
            if version < fake.oldest and not fake.expires_in_stream:
                self._send(410, _status(410, "too old resource version", "Expired"))
                return
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            if version < fake.oldest:
                self._expire(version)
            elif fault and fault.raw:
                self._chunk(fault.raw)
                return
            if version >= fake.oldest:
                self._stream(namespace, query, version)
            self.wfile.write(b"0\r\n\r\n")

        def _stream(self, namespace: str, query: dict[str, str], version: int) -> None:
            until = time.monotonic() + int(query.get("timeoutSeconds", "60"))
            selector, cuts = query.get("labelSelector", ""), fake.cuts
            last_version = version
            while time.monotonic() < until:
                with fake.lock:
                    fresh = [entry for entry in fake.log if entry[0] > last_version]
                    if not fresh:
                        fake.lock.wait(BOOKMARK_SECONDS)
                        fresh = [entry for entry in fake.log if entry[0] > last_version]
                    now, is_cut, is_behind = fake.version, fake.cuts != cuts, last_version < fake.oldest
                if is_cut:
                    raise BrokenPipeError
                if is_behind:
                    self._expire(last_version)
                    return
                for at, kind, value in fresh:
                    if _fits(value, namespace, selector):
                        self._line({"type": kind, "object": value})
                    last_version = at
                if (
                    not fresh
                    and fake.bookmarks
                    and query.get("allowWatchBookmarks") == "true"
                    and now > last_version
                ):
                    last_version = now
                    metadata = {"resourceVersion": str(now)}
                    self._line({"type": "BOOKMARK", "object": {"kind": "ConfigMap", "metadata": metadata}})

        def _expire(self, version: int) -> None:
            document = json.loads(_status(410, f"too old resource version: {version}", "Expired"))
            self._line({"type": "ERROR", "object": document})

        def _line(self, document: dict) -> None:
            self._chunk(json.dumps(document).encode() + b"\n")

        def _chunk(self, raw: bytes) -> None:
            self.wfile.write(b"%x\r\n%s\r\n" % (len(raw), raw))
            self.wfile.flush()

        def _create(self, fault: Fault | None) -> None:
            body = self.body
            key = (body["metadata"]["namespace"], body["metadata"]["name"])
            problem = _wrong_event(body)
            if problem:
                self._send(422, _status(422, problem, "Invalid"))
            elif key in fake.events:
                self._send(409, _status(409, "already exists", "AlreadyExists"))
            else:
                fake.events[key] = body
                self._send(201, json.dumps(body).encode())

        def _patch(self, fault: Fault | None) -> None:
            path = self.path.strip("/").split("/")
            event = fake.events[path[4], path[6]]
            fake.events[path[4], path[6]] = {**event, **self.body}
            self._send(200, b"{}")

    return Handler


def _wrong_event(event: dict) -> str:
    if "." not in event["eventTime"]:
        return "eventTime: needs fractional digits"
    if len(event["note"]) > 1024:
        return "note: can have at most 1024 characters"
    missing = [
        name
        for name in ("reason", "action", "reportingController", "reportingInstance", "type")
        if not event[name]
    ]
    return f"{missing}: required" if missing else ""
