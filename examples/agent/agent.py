"""The reference agent: it joins, beats, reports its service providers, and leaves in good order.

Python's standard library and this file are all it needs. README.md beside it lists what it reads.
"""

from __future__ import annotations

import http.client
import json
import logging
import os
import random
import signal
import threading
import time
import urllib.error
import urllib.request
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

VERSION = "1.0"
FIRST_PAUSE, LONGEST_PAUSE = 1.0, 300.0
PROBE_SECONDS, PROBE_TIMEOUT = float(os.environ.get("AGENT_PROBE_SECONDS", "10")), 5.0
# Until the providers were probed once, heartbeats come this soon: so what they are is known early.
FIRST_BEATS = 1.0
# So many probes in a row settle any state. A higher count would make every report look new.
MOST_PROBES = 3
JOIN_TOKEN = "cp_joi_"  # noqa: S105  (its beginning)
log = logging.getLogger("agent")


class Refused(Exception):
    """The control plane answered, and not with 2xx."""

    def __init__(self, status: int, detail: str, retry_after: float) -> None:
        super().__init__(f"{status}: {detail}")
        self.status, self.retry_after = status, retry_after


def pause(tries: int) -> float:
    """Full jitter: anything up to a limit that doubles, so that a fleet does not come back in step."""
    return random.uniform(0, min(LONGEST_PAUSE, FIRST_PAUSE * 2 ** min(tries, 16)))  # noqa: S311  (jitter)


class ControlPlane:
    """Its API. The agent's own token, once it has one, is kept in a file that only it may read."""

    def __init__(self, url: str, given: str, kept: str | None) -> None:
        self.url, self.given, self.kept = url.rstrip("/"), given, Path(kept) if kept else None
        self.token = self.kept.read_text().strip() if self.kept and self.kept.exists() else given

    def call(self, method: str, path: str, body: Any = None) -> Any:
        """Raises Refused, OSError (no connection) or http.client.HTTPException (half an answer)."""
        request = urllib.request.Request(  # noqa: S310  (an address that its operator gave)
            f"{self.url}/api/v1/{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"},
        )
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:  # noqa: S310  (an address that its operator gave)
                return json.loads(answer.read() or b"null")
        except urllib.error.HTTPError as error:
            raise _refused(error) from None

    def keep(self, token: str) -> None:
        self.token = token
        if self.kept:
            new = self.kept.with_suffix(".new")
            new.touch(mode=0o600)
            new.write_text(token)
            new.replace(self.kept)


def _refused(error: urllib.error.HTTPError) -> Refused:
    try:
        detail = json.loads(error.read()).get("detail", "")
    except (ValueError, AttributeError, OSError):
        detail = error.reason
    after = error.headers.get("Retry-After", "0")
    return Refused(error.code, str(detail), float(after) if after.isdigit() else 0.0)


class Providers(threading.Thread):
    """The service providers that a JSON file lists, and what probes of them say. Unreadable: as before."""

    def __init__(self, file: str | None, stopping: threading.Event) -> None:
        super().__init__(daemon=True)
        self.file, self.stopping, self.listed = file, stopping, list[dict[str, Any]]()
        self.found: dict[str, tuple[str, int]] = {}
        self.probed = threading.Event()

    def run(self) -> None:
        while not self.stopping.is_set():
            self.probe_all()
            self.probed.set()
            self.stopping.wait(PROBE_SECONDS)

    def read(self) -> list[dict[str, Any]]:
        if self.file:
            try:
                self.listed = list(json.loads(Path(self.file).read_text()))
            except (OSError, ValueError) as error:
                log.warning("cannot read %s: %s", self.file, error)
        return self.listed

    def probe_all(self) -> None:
        for one in self.read():
            said, (before, count) = probe(one["endpoint"]), self.found.get(one["name"], ("", 0))
            self.found[one["name"]] = (said, min(count + 1, MOST_PROBES) if said == before else 1)

    def report(self) -> list[dict[str, Any]]:
        known = [(one, *self.found[one["name"]]) for one in self.read() if one["name"] in self.found]
        kept = ("name", "service_type")
        return [{**{k: one[k] for k in kept}, "status": said, "probes": n} for one, said, n in known]


def probe(endpoint: str) -> str:
    try:
        with urllib.request.urlopen(f"{endpoint}/health", timeout=PROBE_TIMEOUT) as answer:  # noqa: S310  (an address that its operator gave)
            healthy = json.loads(answer.read(65536))["status"] == "healthy"
    except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError):
        return "unavailable"
    return "ready" if healthy else "unhealthy"


class Agent:
    """facts: what it registers with. offered: the providers that were taken, with their ids."""

    def __init__(self, plane: ControlPlane, facts: dict[str, Any], providers: str | None) -> None:
        self.plane, self.facts, self.stopping = plane, facts, threading.Event()
        self.providers = Providers(providers, self.stopping)
        self.id, self.generation, self.tries = "", 0, 0
        self.registered: dict[str, Any] = {}
        self.offered: dict[str, tuple[str, dict[str, Any]]] = {}

    def run(self) -> None:
        self.providers.start()
        while not self.stopping.is_set():
            self.stopping.wait(self.step())
        self.leave()

    def step(self) -> float:
        """Do what is due; return how long to wait for the next step."""
        try:
            self.register()
            self.offer()
            told = self.beat()
            self.tries = 0
            wait = float(told["next_heartbeat_in_seconds"])
            return wait if self.providers.probed.is_set() else min(wait, FIRST_BEATS)
        except Refused as refused:
            return self.after(refused)
        except (OSError, http.client.HTTPException) as error:
            return self.again(f"no answer ({error})")

    def register(self) -> None:
        """At the start, when the control plane has forgotten us, and when what we offer has changed."""
        types = {*self.facts["service_types"], *(one["service_type"] for one in self.providers.read())}
        facts = {**self.facts, "service_types": sorted(types)}
        if self.id and facts == self.registered:
            return
        if self.plane.token.startswith(JOIN_TOKEN):
            joined = self.plane.call("POST", "agents:join", facts)
            self.plane.keep(joined["token"])
            told = joined["agent"]
        else:
            told = self.plane.call("POST", "agents", facts)
        self.id, self.generation, self.registered = told["agent_id"], told["generation"], facts
        log.info("registered as %s", self.id)

    def offer(self) -> None:
        """Register new and changed providers, take away those that are gone. A refusal stops no heartbeat."""
        listed = {one["name"]: one for one in self.providers.read()}
        for name, one in listed.items():
            if name not in self.offered or self.offered[name][1] != one:
                told = self._try("POST", f"agents/{self.id}/providers", one)
                if told:
                    self.offered[name] = (told["id"], one)
        for name in self.offered.keys() - listed.keys():
            self._try("DELETE", f"agents/{self.id}/providers/{self.offered.pop(name)[0]}")

    def _try(self, method: str, path: str, body: Any = None) -> Any:
        try:
            return self.plane.call(method, path, body)
        except Refused as refused:
            if refused.status not in (400, 404, 409, 422):
                raise
            log.warning("%s %s: %s", method, path, refused)

    def beat(self, *, leaving: bool = False) -> Any:
        draining = [{"type": "Draining", "status": "true"}] if leaving else []
        said = {
            "timestamp": datetime.now(UTC).isoformat(),
            "consumer_lag": 0,
            "conditions": draining,
            "versions": {"agent": VERSION},
            "providers": self.providers.report(),
        }
        told = self.plane.call("PUT", f"agents/{self.id}/heartbeat", said)
        if told["generation"] != self.generation:
            log.warning("somebody else registers as %s", self.facts["name"])
            self.generation = told["generation"]
        return told

    def after(self, refused: Refused) -> float:
        """Decide what a refusal means; return how long to wait."""
        if refused.status in (404, 410) and self.id:
            log.warning("the control plane does not know us any more; registering again")
            self.id, self.offered = "", {}
            return pause(0)
        if refused.status == 401:
            self.plane.token, self.id, self.offered = self.plane.given, "", {}
        return self.again(str(refused), refused.retry_after)

    def again(self, why: str, least: float = 0.0) -> float:
        wait, self.tries = least + pause(self.tries), self.tries + 1
        log.warning("%s; again in %.0f s", why, wait)
        return wait

    def leave(self) -> None:
        """The last heartbeat says so; then out of the list, where the control plane knows how."""
        if not self.id:
            return
        try:
            self.beat(leaving=True)
            self.plane.call("POST", f"agents/{self.id}:deregister")
        except (Refused, OSError, http.client.HTTPException) as error:
            log.info("left without a word more: %s", error)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)sZ %(levelname)s %(message)s")
    logging.Formatter.converter = time.gmtime
    told = os.environ
    token = told.get("AGENT_TOKEN") or Path(told["AGENT_TOKEN_FILE"]).read_text().strip()
    plane = ControlPlane(told["CONTROLPLANE_URL"], token, told.get("AGENT_STATE_FILE"))
    facts: dict[str, Any] = {
        "name": told["AGENT_NAME"],
        "environment": told.get("AGENT_ENVIRONMENT", "default"),
        "service_types": [*filter(None, told.get("AGENT_SERVICE_TYPES", "").split(","))],
        "cost": told.get("AGENT_COST", "medium"),
        "topic_name": told.get("AGENT_TOPIC", f"dcm.agent.{told['AGENT_NAME']}"),
    }
    served = [one.partition("@") for one in told.get("AGENT_TASK_TYPES", "").split(",") if one]
    facts["task_types"] = [{"name": name, "version": version} for name, _, version in served]
    agent = Agent(plane, facts, told.get("AGENT_PROVIDERS_FILE"))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stopping.set())
    agent.run()


if __name__ == "__main__":
    main()
