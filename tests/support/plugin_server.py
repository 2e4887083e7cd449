"""A small server that serves a lock and archives exactly as the API of plugin releases does, with faults."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import BaseHTTPRequestHandler, SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit
from uuid import uuid4

from plugin_store.archive_entries import kind_of
from plugin_store.digests import tree_digest
from plugin_store.lock_document import LockDocument, LockedPlugin, write_lock
from tests.unit.plugin_store.archives import tar_gz, unpack, zip_of

TOKEN = "cp_secret_token_of_the_test"
JSON = "application/json"


@dataclass(frozen=True)
class Packed:
    """A plugin with its archive."""

    locked: LockedPlugin
    content: bytes


def packed(name: str, version: str, scratch: Path, *, padding: int = 0) -> Packed:
    """Pack a plugin; bq2bq as tar.gz, all others as zip. padding: bytes that do not compress."""
    files = {"plugin.yaml": f"name: {name}\npluginversion: {version}\n".encode()}
    if padding:
        block = hashlib.sha512(name.encode() + version.encode()).digest()
        rounds = range(padding // 64)
        files["data.bin"] = b"".join(hashlib.sha512(block + str(n).encode()).digest() for n in rounds)
    suffix = "tar.gz" if name == "bq2bq" else "zip"
    content = (tar_gz if suffix == "tar.gz" else zip_of)(files)
    scratch.mkdir(exist_ok=True)
    folder = scratch / uuid4().hex
    sha256 = hashlib.sha256(content).hexdigest()
    url = f"https://artifacts.example.com/{name}-{version}.{suffix}"
    locked = LockedPlugin(
        name=name, version=version, provider="artifacts", url=url, size=len(content), sha256=sha256,
        tree=tree_digest(unpack(content, kind_of(url), folder)), platform="any", signature=None,
        fetched_at="2026-11-24T02:00:00Z", config_hash="0" * 64,
    )  # fmt: skip
    return Packed(locked, content)


def lock_of(plugins: list[Packed]) -> bytes:
    return write_lock(LockDocument("controlplane", "0" * 64, tuple(one.locked for one in plugins)))


@dataclass
class Request:
    method: str
    path: str
    query: dict[str, list[str]]
    headers: dict[str, str]


Fault = Callable[["Handler", bytes], bool]


class PluginServer(ThreadingHTTPServer):
    """fault: may answer a request for an archive instead. sent: bytes of archives."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.sets: dict[str, list[Packed]] = {}
        self.archives: dict[str, bytes] = {}
        self.requests: list[Request] = []
        self.fault: Fault | None = None
        self.sent = 0
        self.configs: dict[str, dict[str, Any]] = {}
        self.releases: list[dict[str, Any]] = []
        self.states: Mapping[str, Any] = {}

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Nothing: a client that is killed breaks its connections."""

    def publish(self, *plugins: Packed, team: str = "") -> None:
        self.sets[team] = list(plugins)
        self.archives |= {one.locked.sha256: one.content for one in plugins}

    def artifacts(self) -> list[Request]:
        return [one for one in self.requests if one.path.endswith("/artifact")]


class Handler(BaseHTTPRequestHandler):
    server: PluginServer
    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        parts = urlsplit(self.path)
        query = parse_qs(parts.query)
        self.server.requests.append(Request(self.command, parts.path, query, dict(self.headers)))
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.problem(401, "not_authenticated", "Authentication required.")
        path = parts.path.removeprefix("/api/v1/")
        team = query.get("team", [""])[0]
        if path == "plugin-config/lock":
            return self.lock(team)
        if path.endswith("/artifact"):
            return self.artifact(team, query.get("sha256", [""])[0])
        return self.change(path, team, query, json.loads(body) if body else {})

    do_GET = do_POST = do_PUT = do_DELETE = answer

    def lock(self, team: str) -> None:
        if team not in self.server.sets:
            return self.problem(404, "unknown_plugin_release", "No release of plugins is active.")
        text = lock_of(self.server.sets[team])
        etag = f'"{hashlib.sha256(text).hexdigest()}"'
        if self.headers.get("If-None-Match") == etag:
            return self.send(304, b"", {"ETag": etag})
        return self.send(200, text, {"ETag": etag, "Content-Type": JSON})

    def artifact(self, team: str, sha256: str) -> None:
        active = {one.locked.sha256 for one in self.server.sets.get(team, [])}
        content = self.server.archives.get(sha256)
        if content is None or sha256 not in active:
            return self.problem(404, "unknown_plugin_artifact", "The active release has no such archive.")
        if self.server.fault and self.server.fault(self, content):
            return None
        digest = base64.b64encode(hashlib.sha256(content).digest()).decode()
        headers = {
            "ETag": f'"{sha256}"', "Accept-Ranges": "bytes", "Repr-Digest": f"sha-256=:{digest}:",
            "Content-Type": "application/octet-stream",
        }  # fmt: skip
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        if match and self.headers.get("If-Range", headers["ETag"]) == headers["ETag"]:
            start = int(match[1])
            headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
            self.server.sent += len(content) - start
            return self.send(206, content[start:], headers)
        self.server.sent += len(content)
        return self.send(200, content, headers)

    def change(self, path: str, team: str, query: dict[str, list[str]], body: Any) -> None:
        """What server mode asks."""
        if path == "plugin-config:validate":
            return self.object(_validation(body["text"]))
        if path == "plugin-config" and self.command == "GET":
            config = self.server.configs.get(team)
            if config is None:
                return self.problem(404, "unknown_plugin_config", "No plugins are configured.")
            return self.object(config, {"ETag": f'"{config["version"]}"'})
        if path == "plugin-config":
            return self.put_config(team, query, body)
        if path == "plugin-config/source":
            return self.object({"path": "", "valid": True, "diagnostics": []})
        if path in ("plugin-config/versions", "plugin-nodes", "plugin-secrets"):
            return self.object({"items": [], "next_cursor": None})
        if path.startswith("plugin-secrets/"):
            return self.object({"name": path.rpartition("/")[2], "version": 1})
        if path.startswith("plugins/"):
            return self.object(self.rows(team)[0])
        if path == "plugins":
            return self.object({"items": self.rows(team), "next_cursor": None})
        return self.release(path, team, query, body)

    def rows(self, team: str) -> list[dict[str, Any]]:
        return [_row(one.locked) for one in self.server.sets.get(team, [])]

    def put_config(self, team: str, query: dict[str, list[str]], body: Any) -> None:
        current = self.server.configs.get(team)
        if_match = self.headers.get("If-Match", "")
        expected = f'"{current["version"]}"' if current else ""
        if if_match != expected or (not current and self.headers.get("If-None-Match") != "*"):
            return self.problem(412, "version_mismatch", "It has changed.")
        if body.keys() != {"text"}:
            return self.problem(400, "invalid_request", "A field is unknown.")
        checked = _validation(body["text"])
        stored = {
            "team": team or None,
            "origin": "api",
            "version": (current or {"version": 0})["version"] + 1,
            **checked,
        }
        if query.get("dry_run") != ["true"]:
            self.server.configs[team] = stored
        return self.object(stored)

    def release(self, path: str, team: str, query: dict[str, list[str]], body: Any) -> None:
        releases = self.server.releases
        if path == "plugin-releases" and self.command == "GET":
            return self.object({"items": releases[::-1], "next_cursor": None})
        if path == "plugin-releases":
            if body.keys() - {"activate", "min_active"}:
                return self.problem(400, "invalid_request", "A field is unknown.")
            created: dict[str, Any] = {
                "id": f"id-{len(releases) + 1}", "number": len(releases) + 1, "team": team or None,
                "state": "resolving", "config_version": 1, "plugins": self.rows(team), "nodes": [],
                "nodes_ready": 0, "nodes_required": 1, "waiting_for": "", "activated_at": None,
                "activate": body.get("activate", "automatic"), "min_active": body.get("min_active"),
                "message": query.get("change_message", [""])[0], "created_at": "2026-11-24T02:00:00Z",
            }  # fmt: skip
            releases.append(created)
            return self.object(created, status=201)
        one, _, verb = path.removeprefix("plugin-releases/").partition(":")
        release = next((one_release for one_release in releases if one_release["id"] == one), None)
        if release is None:
            return self.problem(404, "unknown_plugin_release", "There is no such release.")
        self.advance(release, verb)
        return self.object(release)

    def advance(self, release: dict[str, Any], verb: str) -> None:
        """Each look brings a release a step further."""
        is_due = release["state"] == "ready" and release["activate"] == "automatic"
        if verb == "cancel":
            release["state"] = "failed"
        elif verb or is_due:
            for other in self.server.releases:
                other["state"] = "superseded" if other["state"] == "active" else other["state"]
            nodes = [{"name": "node-1", "state": "active", "live": True}]
            release.update(state="active", nodes=nodes, nodes_ready=1, activated_at="2026-11-24T02:00:01Z")
        elif release["state"] == "resolving":
            release["state"] = "ready"
        release.update(self.server.states)

    def object(self, value: Any, headers: Mapping[str, str] | None = None, status: int = 200) -> None:
        self.send(status, json.dumps(value).encode(), {"Content-Type": JSON, **(headers or {})})

    def problem(self, status: int, code: str, detail: str) -> None:
        body = {"status": status, "code": code, "detail": detail, "request_id": "r1", "errors": []}
        self.send(status, json.dumps(body).encode(), {"Content-Type": "application/problem+json"})

    def send(self, status: int, body: bytes, headers: Mapping[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if status != 304:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments: object) -> None:
        """Nothing: the test says what matters."""


def _row(plugin: LockedPlugin) -> dict[str, Any]:
    return {
        "name": plugin.name, "team": None, "version": plugin.version, "provider": plugin.provider,
        "state": "active", "sha256": plugin.sha256, "size": plugin.size, "problem": "",
        "change": "downloaded", "config": {}, "release_id": "id-1", "release_number": 1,
        "nodes_ready": 1, "nodes_live": 1, "jobs": 2,
    }  # fmt: skip


def _validation(text: str) -> dict[str, Any]:
    """A configuration is valid here if it names outputs; the first checksum is for all."""
    names = re.findall(r"output: (\S+)", text)
    checksum = re.search(r"checksum: (\S+)", text)
    entries = [
        {"output": name, "enabled": True, **({"checksum": checksum[1]} if checksum else {})} for name in names
    ]
    mistake = {"line": 1, "column": 1, "severity": "error", "message": "There are no plugins.", "hint": ""}
    return {
        "valid": bool(names),
        "diagnostics": [] if names else [mistake],
        "omitted": 0,
        "document": {"plugins": {"plugins": entries}} if names else None,
        "digest": hashlib.sha256(text.encode()).hexdigest(),
        "secrets": [],
    }


@contextmanager
def running_plugin_server() -> Iterator[PluginServer]:
    server = PluginServer()
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serving_folder(folder: Path) -> Iterator[tuple[str, list[dict[str, str]]]]:
    """Serve a folder as any web server does; give its address, and the headers of all requests."""
    requests: list[dict[str, str]] = []

    class Files(SimpleHTTPRequestHandler):
        def do_GET(self) -> None:
            requests.append(dict(self.headers))
            super().do_GET()

        def log_message(self, *arguments: object) -> None:
            """Nothing: the test says what matters."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Files, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", requests
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@dataclass
class Truncated:
    """Breaks the connection after some bytes, a number of times."""

    after: int
    times: int = 1
    lock: threading.Lock = field(default_factory=threading.Lock)

    def __call__(self, handler: Handler, content: bytes) -> bool:
        with self.lock:
            if self.times <= 0 or "Range" in handler.headers:
                return False
            self.times -= 1
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: self.after])
        handler.server.sent += self.after
        handler.close_connection = True
        return True


@dataclass
class Slow:
    """Sends half of an archive, and then nothing more until the test ends."""

    released: threading.Event = field(default_factory=threading.Event)

    def __call__(self, handler: Handler, content: bytes) -> bool:
        if self.released.is_set():
            return False
        handler.send_response(200)
        handler.send_header("Content-Length", str(len(content)))
        handler.end_headers()
        handler.wfile.write(content[: len(content) // 2])
        handler.wfile.flush()
        self.released.wait(30)
        handler.close_connection = True
        return True


@dataclass(frozen=True)
class Instead:
    """Answers with something else than the archive."""

    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def __call__(self, handler: Handler, content: bytes) -> bool:
        handler.send(self.status, self.body, self.headers)
        return True
