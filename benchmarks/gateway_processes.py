"""Gateways of examples/gateway, each in a process of its own, with the reports of its agents kept fresh."""

from __future__ import annotations

import multiprocessing
import os
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from typing import Any

import psycopg

from benchmarks.machine import CLIENT_CPUS
from benchmarks.stage import ROOT

_SPAWN = multiprocessing.get_context("spawn")
# Agents report anew three times within this limit.
_REPORT_SECONDS = 180.0
_REPORT = {"consumer_lag": 0}


@dataclass(frozen=True, slots=True)
class Behind:
    """The agents behind a gateway, and its access to the control plane."""

    agents: Sequence[str]
    token: str
    port: int


@dataclass(slots=True)
class Played:
    """What a gateway saw. latencies: of requests. longest: seconds between two renewals of one agent."""

    renewed: int = 0
    refused: int = 0
    interval: float = 0.0
    longest: float = 0.0
    latencies: list[float] = field(default_factory=list)


class GatewayProcess:
    def __init__(self, behind: Behind) -> None:
        self.agents = len(behind.agents)
        self._renewed = _SPAWN.Value("q", 0, lock=False)
        self._connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(target=_play, args=(behind, self._renewed, theirs), daemon=True)
        self._process.start()
        theirs.close()

    @property
    def renewed(self) -> int:
        return int(self._renewed.value)

    def kill(self) -> None:
        """End it as a crash would."""
        self._process.kill()
        self._process.join()

    def ask_to_stop(self, url: str) -> None:
        """Let it finish its request and write what was acknowledged to the table bench_acknowledged."""
        self._connection.send(url)

    def result(self) -> Played:
        if not self._connection.poll(120):
            self.kill()
            raise TimeoutError("A gateway does not stop.")
        played: Played = self._connection.recv()
        self._process.join()
        return played


def _play(behind: Behind, renewed: Any, connection: Connection) -> None:
    os.sched_setaffinity(0, CLIENT_CPUS)
    sys.path.insert(0, str(ROOT / "examples" / "gateway"))
    from bulk_client import BulkClient  # type: ignore[import-not-found]
    from gateway import Gateway  # type: ignore[import-not-found]
    from reports import Reports  # type: ignore[import-not-found]

    reports = Reports(_REPORT_SECONDS)
    client = BulkClient(f"http://127.0.0.1:{behind.port}", lambda: behind.token)
    record = _Record(client.send, renewed)
    client.send = record.send
    gateway = Gateway(client, reports)
    threading.Thread(target=_keep_reporting, args=(behind.agents, reports), daemon=True).start()
    running = threading.Thread(target=gateway.run)
    running.start()
    url = connection.recv()
    gateway.stopping.set()
    running.join()
    record.write(url)
    record.played.interval = gateway.interval
    connection.send(record.played)


def _keep_reporting(agents: Sequence[str], reports: Any) -> None:
    while True:
        for agent in agents:
            reports.accept(agent, _REPORT, time.monotonic())
        time.sleep(_REPORT_SECONDS / 3)


class _Record:
    """What the control plane acknowledged: the time of each agent's last renewal, by the server's clock."""

    def __init__(self, send: Any, renewed: Any) -> None:
        self._send, self._renewed = send, renewed
        self._acknowledged: dict[str, str] = {}
        self._at: dict[str, float] = {}
        self.played = Played()

    def send(self, entries: Sequence[str]) -> list[dict[str, Any]]:
        began = time.perf_counter()
        results: list[dict[str, Any]] = self._send(entries)
        now, played = time.perf_counter(), self.played
        played.latencies.append(now - began)
        for result in results:
            if result["status"] != 200:
                played.refused += 1
                continue
            agent = result["agent_id"]
            played.renewed += 1
            played.longest = max(played.longest, now - self._at.get(agent, now))
            self._at[agent], self._acknowledged[agent] = now, result["heartbeat"]["last_heartbeat"]
        self._renewed.value = played.renewed
        return results

    def write(self, url: str) -> None:
        statement = "COPY bench_acknowledged FROM STDIN"
        with psycopg.connect(url) as connection, connection.cursor().copy(statement) as copy:
            for row in self._acknowledged.items():
                copy.write_row(row)
