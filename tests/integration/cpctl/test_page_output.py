"""cpctl and long lists: the first page is printed at once, and memory does not grow with the list."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from tests.support.cpctl_runner import Cpctl

ROWS, PAGE = 20_000, 200
_LABELS = {"team": "x" * 500}


class Fleet(ThreadingHTTPServer):
    """Answers `GET /api/v1/agents` with that many agents, page by page."""

    def __init__(self, rows: int) -> None:
        super().__init__(("127.0.0.1", 0), _Pages)
        self.rows = rows
        self.pages = 0
        self.may_go_on = threading.Event()
        self.may_go_on.set()
        self.url = f"http://127.0.0.1:{self.server_port}"


class _Pages(BaseHTTPRequestHandler):
    server: Fleet

    def do_GET(self) -> None:
        query = parse_qs(urlsplit(self.path).query)
        start = int(query.get("cursor", ["0"])[0])
        if start:
            self.server.may_go_on.wait(60)
        self.server.pages += 1
        end = min(start + PAGE, self.server.rows)
        items = [{"name": f"agent-{n}", "agent_id": str(n), "labels": _LABELS} for n in range(start, end)]
        body = {"items": items, "next_cursor": str(end) if end < self.server.rows else None}
        text = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments: object) -> None:
        """Nothing: the test says what matters."""


@pytest.fixture
def fleet() -> Iterator[Fleet]:
    yield from running(ROWS)


@pytest.fixture
def small() -> Iterator[Fleet]:
    yield from running(PAGE)


def running(rows: int) -> Iterator[Fleet]:
    server = Fleet(rows)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.may_go_on.set()
    server.shutdown()
    thread.join()
    server.server_close()


def started(folder: Path, server: Fleet, *arguments: str) -> subprocess.Popen[str]:
    return Cpctl(folder, server.url, "token").start(*arguments)


@pytest.mark.parametrize("how", ["name", "table", "json", "yaml", "csv"])
def test_the_first_page_is_printed_before_the_second_is_there(fleet, tmp_path, how):
    fleet.may_go_on.clear()
    ran = started(tmp_path, fleet, "get", "agents", "-o", how)
    assert ran.stdout is not None

    output = ""
    while "agent-150" not in output:
        output += ran.stdout.readline()
    assert fleet.pages == 1

    # Whoever reads only the beginning ends it, without an error.
    ran.stdout.close()
    fleet.may_go_on.set()
    assert ran.wait(60) == 0
    assert ran.stderr is not None
    assert ran.stderr.read() == ""
    assert fleet.pages <= 3


def test_memory_is_that_of_a_page_and_not_of_the_list(fleet, small, tmp_path):
    few, many = (most_memory(tmp_path, small) for small in (small, fleet))

    assert fleet.pages == ROWS // PAGE
    # The items alone are more than 20 MiB.
    assert many - few < 8 * 1024


def most_memory(folder: Path, server: Fleet) -> int:
    """KiB that cpctl had resident at most."""
    with (folder / "out").open("w") as out:
        ran = subprocess.Popen(
            [sys.executable, "-m", "cpctl", "get", "agents", "-o", "json"],
            stdout=out,
            env=Cpctl(folder, server.url, "token").variables(),
        )
        _, status, usage = os.wait4(ran.pid, 0)
        ran.returncode = os.waitstatus_to_exitcode(status)
    assert ran.returncode == 0
    assert len(json.loads((folder / "out").read_text())["items"]) == server.rows
    return usage.ru_maxrss
