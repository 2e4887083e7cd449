"""A service provider whose resources are processes on this machine.

Only the commands below can be started. A process outlives the provider, which finds it again by its files.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any

from provider_http import Reply, make_server, refusal

_MOST_SECONDS = 86_400


class Processes:
    """folder: one JSON file for each process."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)
        self._lock = threading.Lock()
        # Those that this process started: their exit codes are known.
        self._children: dict[str, subprocess.Popen[bytes]] = {}

    def create(self, resource_id: str, spec: dict[str, Any]) -> Reply:
        with self._lock:
            if self._load(resource_id):
                return Reply(200, self._describe(resource_id))
            try:
                command, output = command_of(spec)
            except (ValueError, TypeError) as error:
                return refusal(422, str(error))
            child = subprocess.Popen(
                command,
                cwd=self.folder,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
            self._children[resource_id] = child
            facts = {"pid": child.pid, "started": _start_of(child.pid), "output": output}
            new = self._file(resource_id).with_suffix(".new")
            new.write_text(json.dumps(facts))
            new.replace(self._file(resource_id))
            return Reply(201, self._describe(resource_id))

    def read(self, resource_id: str) -> Reply:
        with self._lock:
            if self._load(resource_id) is None:
                return refusal(404, "There is no such process.")
            return Reply(200, self._describe(resource_id))

    def delete(self, resource_id: str) -> Reply:
        with self._lock:
            facts = self._load(resource_id)
            if facts and self._is_running(resource_id, facts):
                with suppress(ProcessLookupError):
                    os.killpg(facts["pid"], signal.SIGKILL)
            child = self._children.pop(resource_id, None)
            if child:
                child.wait(5)
            self._file(resource_id).unlink(missing_ok=True)
        return Reply(204, {})

    def health(self) -> Reply:
        return Reply(200, {"status": "healthy"})

    def administer(self, order: dict[str, Any]) -> Reply:
        return refusal(404, "There is no such path.")

    def _describe(self, resource_id: str) -> dict[str, Any]:
        facts = self._load(resource_id) or {}
        is_running = self._is_running(resource_id, facts)
        child = self._children.get(resource_id)
        code = child.returncode if child else None
        ended = "The process has ended" + (f" with code {code}." if code is not None else ".")
        return {
            "id": resource_id,
            "status": "RUNNING" if is_running else "FAILED",
            "message": "" if is_running else ended,
            "output": {"pid": facts.get("pid"), **facts.get("output", {})},
        }

    def _is_running(self, resource_id: str, facts: dict[str, Any]) -> bool:
        child = self._children.get(resource_id)
        if child:
            return child.poll() is None
        # The number may belong to another process by now.
        return bool(facts["started"]) and _start_of(facts["pid"]) == facts["started"]

    def _load(self, resource_id: str) -> dict[str, Any] | None:
        try:
            return dict(json.loads(self._file(resource_id).read_text()))
        except FileNotFoundError:
            return None

    def _file(self, resource_id: str) -> Path:
        # Ids are lower-case letters, digits and hyphens; nothing else becomes part of a path.
        plain = "".join(letter for letter in resource_id if letter.isalnum() or letter == "-")
        return self.folder / f"{plain}.json"


def command_of(spec: dict[str, Any]) -> tuple[list[str], dict[str, Any]]:
    """Return the command and its output. Raises ValueError."""
    match spec.get("command"):
        case "sleep":
            seconds = float(spec.get("seconds", 3600))
            if not 0 <= seconds <= _MOST_SECONDS:
                raise ValueError(f"seconds must be between 0 and {_MOST_SECONDS}.")
            return ["sleep", str(seconds)], {}
        case "http-server":
            port = _free_port()
            command = [sys.executable, "-m", "http.server", "--bind", "127.0.0.1", str(port)]
            return command, {"url": f"http://127.0.0.1:{port}/"}
        case other:
            raise ValueError(f"The command {other!r} is not allowed. Use sleep or http-server.")


def _free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


def _start_of(pid: int) -> str:
    """Return when the process started, in ticks since the machine did; empty if it has ended. Linux only."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return ""
    return "" if fields[0] == "Z" else fields[19]


def main() -> None:
    folder = Path(os.environ.get("PROVIDER_FOLDER", "processes"))
    server = make_server(Processes(folder), int(os.environ.get("PROVIDER_PORT", "8091")))
    server.serve_forever()


if __name__ == "__main__":
    main()
