"""The stage: real services with durable storage, our web server, and peers beside it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.machine import SERVER_CPUS
from controlplane.local import Services, start_services
from controlplane.local.programs import free_port

ROOT = Path(__file__).resolve().parents[1]
WORKERS = 3
_OURS = (sys.executable, "-m", "controlplane.serving", "--host", "127.0.0.1")
# The server to beat.
_GRANIAN = (sys.executable, "-m", "granian", "--host", "127.0.0.1", "--no-ws", "--log-level", "error")


@dataclass(slots=True)
class Server:
    """A web server under test."""

    name: str
    port: int
    process: subprocess.Popen[bytes]


@dataclass(slots=True)
class Stage:
    services: Services
    folder: Path
    environment: dict[str, str]
    processors: tuple[int, ...]
    servers: dict[str, Server] = field(default_factory=dict)

    @property
    def postgres(self) -> int:
        return self.services.running["postgres"].process.pid

    def serve(self, name: str, application: str, *, workers: int = WORKERS, **more: str) -> Server:
        """Start our server on the servers' processors and wait until it answers."""
        return self._serve(name, (*_OURS, "--workers", str(workers), application), more)

    def serve_by_granian(
        self, name: str, application: str, *options: str, workers: int = WORKERS, **more: str
    ) -> Server:
        """Start granian, by its ASGI interface unless `options` say otherwise."""
        options = options or ("--interface", "asgi", "--backpressure", "8192")
        return self._serve(name, (*_GRANIAN, "--workers", str(workers), *options, application), more)

    def _serve(self, name: str, server: Sequence[str], more: Mapping[str, str]) -> Server:
        port = free_port()
        command = (*server, "--port", str(port))
        process = subprocess.Popen(
            command,
            cwd=ROOT,
            env={**self.environment, **more},
            stdout=(self.folder / f"{name}.log").open("wb"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        os.sched_setaffinity(process.pid, self.processors)
        self.servers[name] = Server(name, port, process)
        self.wait_for(self.servers[name])
        return self.servers[name]

    def manage(self, *words: str) -> None:
        subprocess.run([sys.executable, "manage.py", *words], cwd=ROOT, env=self.environment, check=True)

    def administrator(self) -> str:
        """A token that may do everything."""
        self.manage("create_admin", "--data-dir", str(self.folder))
        return (self.folder / "admin.token").read_text().strip()

    def stop_servers(self) -> None:
        for server in self.servers.values():
            server.process.send_signal(signal.SIGTERM)
        for server in self.servers.values():
            try:
                server.process.wait(10)
            except subprocess.TimeoutExpired:
                os.killpg(server.process.pid, signal.SIGKILL)

    def wait_for(self, server: Server, path: str = "/livez") -> None:
        """Wait until it answers. Raises RuntimeError with its log."""
        deadline = time.monotonic() + 30
        while server.process.poll() is None and time.monotonic() < deadline:
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{server.port}{path}", timeout=1).close()
                return
            except urllib.error.HTTPError:  # it has no such page, and answers
                return
            except OSError:
                time.sleep(0.1)
        raise RuntimeError(
            f"{server.name} does not answer:\n{(self.folder / f'{server.name}.log').read_text()}"
        )


@contextmanager
def stage(
    extra: Mapping[str, str] | None = None, *, processors: tuple[int, ...] = SERVER_CPUS
) -> Iterator[Stage]:
    """Everything in a temporary folder that is removed at the end; nothing of an installation is touched.

    processors: those of the servers; the rest is for the client.
    """
    # Without this, a benchmark that is ended from outside would leave its servers behind.
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(128 + number))
    folder = Path(tempfile.mkdtemp(prefix="cp-bench-"))
    os.sched_setaffinity(0, processors)
    services = start_services(folder, durable=True)
    running = Stage(services, folder, _environment(services, folder, extra or {}), processors)
    try:
        running.manage("migrate", "--verbosity", "0")
        yield running
    finally:
        running.stop_servers()
        services.stop()
        shutil.rmtree(folder, ignore_errors=True)


def _environment(services: Services, folder: Path, extra: Mapping[str, str]) -> dict[str, str]:
    metrics = folder / "metrics"
    metrics.mkdir()
    return {
        "PATH": os.environ["PATH"],
        **services.environment,
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.dev",
        "DATA_DIR": str(folder / "none"),
        "LOG_LEVEL": "WARNING",
        # An apply of thousands is what is measured; nobody is there to confirm it.
        "CONFIRM_ABOVE_SCOPES": "0",
        # One token makes all requests.
        "THROTTLE_CALLER_PER_MINUTE": "0",
        "THROTTLE_ANONYMOUS_PER_MINUTE": "0",
        "PYTHONPATH": str(ROOT),
        "PROMETHEUS_MULTIPROC_DIR": str(metrics),
        **extra,
    }
