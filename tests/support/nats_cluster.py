"""Three NATS servers that store each message three times, of which any can be killed and started again."""

from __future__ import annotations

from pathlib import Path

from controlplane.local.programs import free_port
from controlplane.messaging.nats import NatsConnection
from controlplane.messaging.nats_types import NatsRefused, NatsUnavailable
from tests.support.nats_server import OwnNats


class NatsCluster:
    def __init__(self, folder: Path, servers: int = 3) -> None:
        self._servers = {f"n{number}": OwnNats(folder / f"n{number}") for number in range(servers)}
        self._routes = {name: f"nats://127.0.0.1:{free_port()}" for name in self._servers}

    @property
    def url(self) -> str:
        return ",".join(server.url for server in self._servers.values())

    def start(self) -> None:
        for name in self._servers:
            self.restart(name)

    def restart(self, name: str) -> None:
        routes = ",".join(self._routes.values())
        self._servers[name].start(
            *("-n", name, "--cluster_name", "cp", "--cluster", self._routes[name], "--routes", routes)
        )

    def kill(self, name: str) -> None:
        self._servers[name].stop()

    def stop(self) -> None:
        for server in self._servers.values():
            server.stop()


def leader_of(connection: NatsConnection, stream: str) -> str:
    """Return the server that leads the stream and whose two followers are up to date, or ""."""
    try:
        cluster = connection._api(f"STREAM.INFO.{stream}").get("cluster") or {}
    except (NatsRefused, NatsUnavailable):
        return ""
    followers = cluster.get("replicas") or []
    is_whole = len(followers) == 2 and all(one.get("current") for one in followers)
    return str(cluster.get("leader", "")) if is_whole else ""
