"""Two Valkeys, of which one follows the other, and three Sentinels that watch them."""

from __future__ import annotations

import subprocess
from pathlib import Path

from redis import Redis
from redis.exceptions import RedisError

from controlplane.local.binaries import valkey_server
from controlplane.local.programs import free_port
from tests.support.waiting import until

SERVICE, PASSWORD = "cp", "not-a-secret"
_SENTINEL = """
port {port}
bind 127.0.0.1
sentinel monitor {service} 127.0.0.1 {primary} 2
sentinel auth-pass {service} {password}
sentinel down-after-milliseconds {service} 1000
sentinel failover-timeout {service} 5000
"""


class ValkeyWithSentinels:
    """The servers by their ports. `kill_primary` ends one as a machine ends: without a word."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._processes: dict[int, subprocess.Popen[bytes]] = {}
        self.servers = [free_port(), free_port()]
        self.sentinels = [free_port() for _ in range(3)]
        self._serve(self.servers[0])
        self._serve(self.servers[1], "--replicaof", "127.0.0.1", str(self.servers[0]))
        for port in self.sentinels:
            self._watch(port)
        until(lambda: self.primary() == self.servers[0] and self._knows_replica(), seconds=60)

    @property
    def url(self) -> str:
        hosts = ",".join(f"127.0.0.1:{port}" for port in self.sentinels)
        return f"sentinel://:{PASSWORD}@{hosts}/0?service={SERVICE}"

    def primary(self) -> int | None:
        """Return the port of the server that accepts writes, as the first Sentinel sees it."""
        try:
            return int(Redis(port=self.sentinels[0]).sentinel_get_master_addr_by_name(SERVICE)[1])
        except (RedisError, TypeError):
            return None

    def kill_primary(self) -> int:
        """Kill the primary; return its port."""
        port = self.primary()
        assert port is not None
        self._processes[port].kill()
        self._processes.pop(port).wait()
        return port

    def stop(self) -> None:
        for process in self._processes.values():
            process.kill()
            process.wait()

    def _knows_replica(self) -> bool:
        return all(len(Redis(port=port).sentinel_slaves(SERVICE)) == 1 for port in self.sentinels)

    def _serve(self, port: int, *options: str) -> None:
        command = ("--port", str(port), "--bind", "127.0.0.1", "--save", "", "--requirepass", PASSWORD)
        self._start(port, *command, "--masterauth", PASSWORD, *options)

    def _watch(self, port: int) -> None:
        config = self._folder / f"sentinel-{port}.conf"
        values = {"service": SERVICE, "primary": self.servers[0], "password": PASSWORD}
        config.write_text(_SENTINEL.format(port=port, **values))
        self._start(port, str(config), "--sentinel")

    def _start(self, port: int, *command: str) -> None:
        with (self._folder / f"{port}.log").open("wb") as log:
            self._processes[port] = subprocess.Popen(
                [str(valkey_server()), *command], cwd=self._folder, stdout=log, stderr=log
            )
        until(lambda: self._answers(port), seconds=60)

    def _answers(self, port: int) -> bool:
        password = PASSWORD if port in self.servers else None
        try:
            return bool(Redis(port=port, password=password).ping())
        except RedisError:
            return False
