"""A NATS server of a test: it can be stopped, emptied, and cut off, without harm to other tests."""

from __future__ import annotations

import shutil
import socket
import subprocess
import threading
from pathlib import Path

from controlplane.local.binaries import nats_server
from controlplane.local.programs import free_port
from tests.support.waiting import until


class OwnNats:
    """The server keeps its port and, unless it is emptied, its streams."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.port = folder, free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def start(self, *options: str) -> None:
        command = [
            str(nats_server()),
            "-js",
            "-sd",
            str(self.folder),
            "-a",
            "127.0.0.1",
            "-p",
            str(self.port),
        ]
        self.process = subprocess.Popen([*command, *options], stderr=subprocess.DEVNULL)
        until(self._answers, 60, pause=0.01)

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def empty(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)

    def _answers(self) -> bool:
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=1) as connection:
                return connection.recv(4096).startswith(b"INFO ")
        except OSError:
            return False


class Wire:
    """A TCP proxy that can stop to forward, without closing connections: a partition."""

    def __init__(self, port: int) -> None:
        self._target = port
        self._open = threading.Event()
        self._open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._sockets: list[socket.socket] = [self._listener]
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def url(self) -> str:
        return f"nats://127.0.0.1:{self.port}"

    def cut(self) -> None:
        self._open.clear()

    def mend(self) -> None:
        self._open.set()

    def close(self) -> None:
        self._open.set()
        for one in self._sockets:
            one.close()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target))
            except OSError:
                return
            self._sockets += [near, far]
            for pair in ((near, far), (far, near)):
                threading.Thread(target=self._forward, args=pair, daemon=True).start()

    def _forward(self, source: socket.socket, target: socket.socket) -> None:
        try:
            while data := source.recv(65536):
                self._open.wait()
                target.sendall(data)
        except OSError:
            pass
        finally:
            for one in (source, target):
                one.close()
