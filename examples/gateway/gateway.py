"""The reference gateway: sends the heartbeats of an environment's agents in bulk.

Agents report to it locally. Python's standard library and the files beside this one are all it needs.
README.md lists its settings.
"""

from __future__ import annotations

import http.client
import logging
import os
import random
import signal
import threading
import time
from collections import Counter
from http import HTTPStatus
from pathlib import Path
from typing import Any

from bulk_client import BulkClient, Refused
from local_reports import LocalServer
from reports import Reports

FIRST_PAUSE = 1.0
# Used until the control plane has answered. No pause is longer than its interval: a lease lasts three.
DEFAULT_INTERVAL = 30.0
# Heartbeats that are due within this share of the interval are sent together, none of them late.
_TICK_SHARE = 0.01
_SHORTEST_TICK = 0.5
# The whole request was refused because of its content.
_BAD_CONTENT = (HTTPStatus.BAD_REQUEST, HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
log = logging.getLogger("gateway")


def pause(tries: int, longest: float) -> float:
    """Return a random pause up to a limit that doubles, so that gateways do not return in step."""
    return random.uniform(0, min(longest, FIRST_PAUSE * 2 ** min(tries, 16)))  # noqa: S311  (no secret)


class Gateway:
    """Sends heartbeats of the agents in `reports`. renewed_count: of leases so far."""

    def __init__(self, client: BulkClient, reports: Reports) -> None:
        self.client, self.reports = client, reports
        self.stopping = threading.Event()
        self.interval, self.tries, self.renewed_count = DEFAULT_INTERVAL, 0, 0

    def run(self) -> None:
        """Work until `stopping` is set; a request that is under way is finished."""
        while not self.stopping.is_set():
            self.stopping.wait(self.step())

    def step(self) -> float:
        """Send the heartbeats that are due; return the seconds until the next step."""
        now, tick = time.monotonic(), max(_SHORTEST_TICK, _TICK_SHARE * self.interval)
        # A tick more, so that none is late at the next step.
        until = now + 2 * tick
        batch = self.reports.take_due(now, until=until)
        if not batch:
            return tick
        pieces = [batch]
        try:
            while pieces:
                self._send_last(pieces)
        except Refused as refused:
            return self._retry(pieces, refused, refused.retry_after)
        except (OSError, http.client.HTTPException, ValueError, KeyError) as error:
            return self._retry(pieces, error)
        self.tries = 0
        return 0.0 if self.reports.is_due(until) else tick

    def _send_last(self, pieces: list[list[tuple[str, str]]]) -> None:
        """Send the last piece and remove it, or halve it if its content is refused as a whole.

        So one bad report harms no other. Raises as BulkClient.send does.
        """
        piece = pieces[-1]
        try:
            results = self.client.send([entry for _, entry in piece])
        except Refused as refused:
            if refused.status not in _BAD_CONTENT:
                raise
            if len(piece) > 1:
                half = len(piece) // 2
                pieces[-1:] = [piece[:half], piece[half:]]
                return
            results = [{"status": refused.status, "code": "refused", "detail": refused.detail}]
        self._settle([agent_id for agent_id, _ in piece], results)
        pieces.pop()

    def _settle(self, agent_ids: list[str], results: list[dict[str, Any]]) -> None:
        pairs = list(zip(agent_ids, results, strict=True))
        accepted = [result["heartbeat"] for result in results if result["status"] == HTTPStatus.OK]
        if accepted:
            self.interval = float(accepted[-1]["heartbeat_interval"])
        settled = [(agent_id, result, self._wait(result)) for agent_id, result in pairs]
        self.reports.settle(settled, time.monotonic())
        self.renewed_count += len(accepted)
        refused = [
            (agent_id, result["code"]) for agent_id, result in pairs if result["status"] != HTTPStatus.OK
        ]
        for code, count in Counter(code for _, code in refused).items():
            first = next(agent_id for agent_id, other in refused if other == code)
            log.warning("%d heartbeats were refused (%s), the first that of agent %s", count, code, first)

    def _wait(self, result: dict[str, Any]) -> float:
        """Return when the agent's next heartbeat is due. One that was refused is tried again as usual."""
        if result["status"] != HTTPStatus.OK:
            return self.interval
        return float(result["heartbeat"]["next_heartbeat_in_seconds"])

    def _retry(self, pieces: list[list[tuple[str, str]]], error: Exception, least: float = 0.0) -> float:
        agent_ids = [agent_id for piece in pieces for agent_id, _ in piece]
        self.reports.plan(agent_ids, time.monotonic())
        wait = least + pause(self.tries, self.interval)
        self.tries += 1
        log.warning("cannot send %d heartbeats (%s); again in %.0f s", len(agent_ids), error, wait)
        return wait


def read_token() -> str:
    file = os.environ.get("GATEWAY_TOKEN_FILE")
    return Path(file).read_text().strip() if file else os.environ["GATEWAY_TOKEN"]


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(levelname)s %(message)s")
    reports = Reports(float(os.environ.get("GATEWAY_REPORT_SECONDS", "30")))
    host, _, port = os.environ.get("GATEWAY_LISTEN", "127.0.0.1:8090").rpartition(":")
    server = LocalServer((host, int(port)), reports)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    gateway = Gateway(BulkClient(os.environ["CONTROLPLANE_URL"], read_token), reports)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: gateway.stopping.set())
    log.info("agents report to %s:%d", host, server.server_port)
    gateway.run()
    server.shutdown()
    server.server_close()
    gateway.client.close()
    log.info("stopped; %d leases were renewed", gateway.renewed_count)


if __name__ == "__main__":
    main()
