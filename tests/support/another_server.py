"""A web server beside the running one, on the same database and with other settings."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from controlplane.local.programs import Program, free_port, start, stop_all
from tests.conftest import as_application
from tests.support.waiting import is_reachable, until


@contextmanager
def another_server(live: Any, folder: Path, **settings: str) -> Iterator[str]:
    """Run the server, and yield its address."""
    port, log = free_port(), folder / "another.log"
    command = (sys.executable, "-m", "controlplane.serving", "--port", str(port), "--workers", "1")
    environment = as_application({**live.environment, **settings}, "web")
    running = start(Program("web", command, log, environment))
    url = f"http://127.0.0.1:{port}"
    try:
        until(lambda: is_reachable(f"{url}/readyz"), 60, log.read_text)
        yield url
    finally:
        stop_all([running], patience=5)
