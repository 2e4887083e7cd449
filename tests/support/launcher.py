"""A real `manage.py up` for tests, in a folder of its own and on a free port."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

from controlplane.local.programs import free_port
from tests.support.paths import ROOT
from tests.support.waiting import is_reachable, until

_SETTINGS = ("DATABASE_URL", "REDIS_URL", "NATS_URL", "SECRET_KEY", "SECRETS_KEY_FILE")
_OWN = (*_SETTINGS, "DJANGO_SETTINGS_MODULE", "DATA_DIR")


class Up:
    """One run. `output` is what the operator sees."""

    def __init__(self, data_dir: Path, *arguments: str, port: int | None = None, **environment: str) -> None:
        self.data_dir = data_dir
        self.port = port or free_port()
        self.url = f"http://localhost:{self.port}"
        self._log = data_dir.parent / f"up-{self.port}-{time.monotonic_ns()}.log"
        clean = {name: value for name, value in os.environ.items() if name not in _OWN}
        command = [sys.executable, "manage.py", "up", "--port", str(self.port), "--data-dir", str(data_dir)]
        command += ["--grpc-port", str(free_port()), "--nats-port", str(free_port())]
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [*command, *arguments],
                cwd=ROOT,
                env={**clean, **environment},
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self._log.read_text()

    def wait_for(self, text: str, seconds: float = 150) -> None:
        until(
            lambda: text in self.output or self.process.poll() is not None,
            seconds,
            lambda: f"{text!r} is not in the output:\n{self.output}",
        )
        assert text in self.output, self.output

    def children(self) -> dict[int, str]:
        """Every living process that names our data folder, or runs in it."""
        processes = {}
        for folder in Path("/proc").glob("[0-9]*"):
            try:
                state = re.search(r"^State:\s+(\S)", (folder / "status").read_text(), re.MULTILINE)
                words = b" ".join(
                    (
                        (folder / "cmdline").read_bytes(),
                        (folder / "environ").read_bytes(),
                        os.fsencode((folder / "cwd").readlink()),
                    )
                )
                command = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
            except OSError:
                continue
            ours = str(self.data_dir).encode() in words and int(folder.name) != self.process.pid
            if ours and state and state[1] != "Z":
                processes[int(folder.name)] = command
        return processes

    def environment_of(self, word: str) -> dict[str, str]:
        """What a process of ours was started with, told by a word of its command."""
        pid = next(pid for pid, words in self.children().items() if word in words)
        pairs = Path(f"/proc/{pid}/environ").read_bytes().decode().split("\0")
        return dict(pair.split("=", 1) for pair in pairs if "=" in pair)

    def stop(self, number: signal.Signals = signal.SIGTERM) -> float:
        """Stop it; return how many seconds that took."""
        began = time.monotonic()
        if self.process.poll() is None:
            self.process.send_signal(number)
        self.process.wait(timeout=60)
        return time.monotonic() - began


class Web:
    """A web server that can be killed without warning, all of it at once, and started again."""

    def __init__(self, environment: dict[str, str], folder: Path, *, workers: int = 2) -> None:
        self.workers = workers
        self.port, self._environment, self._log = free_port(), environment, folder / "web.log"
        self.url = f"http://127.0.0.1:{self.port}"
        self.start()

    def start(self) -> None:
        command = ("-m", "controlplane.serving", "--workers", str(self.workers))
        self.process = subprocess.Popen(
            (sys.executable, *command, "--port", str(self.port)),
            env={"PATH": os.environ["PATH"], **self._environment},
            stdout=self._log.open("ab"),
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )

    def wait_until_ready(self) -> None:
        until(lambda: is_reachable(f"{self.url}/readyz"), 60, lambda: "The web server does not answer.")

    def kill(self) -> None:
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait(60)
