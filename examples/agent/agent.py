"""The reference agent: it joins, beats, reports its providers, handles requests, and leaves in good order.

Python's standard library and the files beside this one are all it needs. README.md lists what it reads.
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
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from control_plane import ControlPlane, Refused, SubjectToken
from https_channel import HttpsChannel
from work import POLL_SECONDS, Work
from work_file import WorkFile

VERSION = "1.0"
FIRST_PAUSE = 1.0
# The longest pause is the interval that the control plane sets: a lease lasts three of them, so that an agent
# is back in time whenever the control plane is. This one is used until it is known.
UNTOLD_INTERVAL = 30.0
PROBE_SECONDS, PROBE_TIMEOUT = float(os.environ.get("AGENT_PROBE_SECONDS", "10")), 5.0
# Until the providers were probed once, heartbeats come this soon: so what they are is known early.
FIRST_BEATS = 1.0
# So many probes in a row settle any state. A higher count would make every report look new.
MOST_PROBES = 3
# How long a process that was asked to stop finishes its requests, and then sends its answers.
DRAIN_SECONDS, LAST_ANSWERS_SECONDS = 60.0, 10.0
DUPLICATE = "duplicate_instance"
log = logging.getLogger("agent")


def pause(tries: int, longest: float) -> float:
    """Full jitter: anything up to a limit that doubles, so that a fleet does not come back in step."""
    return random.uniform(0, min(longest, FIRST_PAUSE * 2 ** min(tries, 16)))  # noqa: S311  (jitter)


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

    def find(self, service_type: str) -> tuple[str, bool] | None:
        """Return the endpoint of the type's provider, and whether it is healthy."""
        for one in self.listed:
            if one["service_type"] == service_type:
                return one["endpoint"], self.found.get(one["name"], ("", 0))[0] == "ready"
        return None

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


def choose_channel() -> type[Any]:
    """HTTPS, unless NATS is wanted and its client is installed."""
    if os.environ.get("AGENT_NATS") == "1":
        try:
            from nats_channel import NatsChannel
        except ImportError:
            log.warning("nats-py is not installed: using HTTPS")
        else:
            return NatsChannel
    return HttpsChannel


class Agent:
    """facts: what it registers with. offered: the providers that were taken, with their ids."""

    def __init__(
        self, plane: ControlPlane, facts: dict[str, Any], providers: str | None, work_file: str | None = None
    ) -> None:
        self.plane, self.facts, self.stopping = plane, facts, threading.Event()
        self.providers = Providers(providers, self.stopping)
        self.id, self.generation, self.tries = "", 0, 0
        self.interval = UNTOLD_INTERVAL
        # Of this process: another one with our name and token is refused while we send heartbeats.
        self.instance = str(uuid.uuid4())
        self.registered: dict[str, Any] = {}
        self.offered: dict[str, tuple[str, dict[str, Any]]] = {}
        poll_seconds = float(os.environ.get("AGENT_POLL_SECONDS", POLL_SECONDS))
        self.work = Work(facts["name"], WorkFile(work_file), self.providers.find, poll_seconds)
        self.channel = choose_channel()(plane, self.work, lambda: self.id)

    def run(self) -> None:
        self.providers.start()
        self.providers.probed.wait(PROBE_TIMEOUT)
        self.work.start()
        self.channel.start()
        while not self.stopping.is_set():
            self.stopping.wait(self.step())
        self.drain()
        self.leave()

    def drain(self) -> None:
        """Take no new requests, finish those that run, and send their answers. Held ones are kept."""
        self.channel.stop_fetching()
        if not self.work.stop(DRAIN_SECONDS):
            log.warning("some requests still run; the next process goes on with them")
        self.channel.close(LAST_ANSWERS_SECONDS)

    def step(self) -> float:
        """Do what is due; return how long to wait for the next step."""
        try:
            self.register()
            self.renew()
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
        self.enter(facts, joins=self.plane.must_join)

    def renew(self) -> None:
        """Join again before our own token ends. A refusal stops no heartbeat: it has not ended yet."""
        if not (self.plane.subject and self.plane.subject.is_due()):
            return
        try:
            self.enter(self.registered, joins=True)
        except Refused as refused:
            log.warning("cannot renew our token yet: %s", refused)

    def enter(self, facts: dict[str, Any], *, joins: bool) -> None:
        sent = {**facts, "instance_uuid": self.instance}
        told = self.plane.join(sent) if joins else self.plane.call("POST", "agents", sent)
        self.interval = float(told["heartbeat_interval"])
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
            if refused.status not in (400, 404, 409, 422) or refused.code == DUPLICATE:
                raise
            log.warning("%s %s: %s", method, path, refused)

    def beat(self, *, leaving: bool = False) -> Any:
        draining = [{"type": "Draining", "status": "true"}] if leaving else []
        said = {
            "timestamp": datetime.now(UTC).isoformat(),
            "consumer_lag": 0,
            "instance_uuid": self.instance,
            "conditions": draining,
            "versions": {"agent": VERSION},
            "providers": self.providers.report(),
        }
        told = self.plane.call("PUT", f"agents/{self.id}/heartbeat", said)
        self.interval = float(told["heartbeat_interval"])
        if told["generation"] != self.generation:
            log.warning("somebody else registers as %s", self.facts["name"])
            self.generation = told["generation"]
        return told

    def after(self, refused: Refused) -> float:
        """Decide what a refusal means; return how long to wait."""
        if refused.status in (404, 410) and self.id:
            log.warning("the control plane does not know us any more; registering again")
            self.id, self.offered = "", {}
            return pause(0, self.interval)
        if refused.code == DUPLICATE:
            # After a crash we may be the second process for a moment; else somebody must stop one of us.
            self.id, self.offered = "", {}
            log.warning("another process is %s; again in %.0f s", self.facts["name"], refused.retry_after)
            return refused.retry_after + pause(0, self.interval)
        if refused.status == 401:
            self.plane.token, self.id, self.offered = self.plane.given, "", {}
        return self.again(str(refused), refused.retry_after)

    def again(self, why: str, least: float = 0.0) -> float:
        wait, self.tries = least + pause(self.tries, self.interval), self.tries + 1
        log.warning("%s; again in %.0f s", why, wait)
        return wait

    def leave(self) -> None:
        """Send a last heartbeat, then deregister, unless resources of ours are left for the next process."""
        if not self.id:
            return
        try:
            self.beat(leaving=True)
            if not self.work.has_work():
                self.plane.call("POST", f"agents/{self.id}:deregister")
        except (Refused, OSError, http.client.HTTPException) as error:
            log.info("left without a word more: %s", error)


def main() -> None:
    logging.basicConfig(level=logging.INFO, format="%(asctime)sZ %(levelname)s %(message)s")
    logging.Formatter.converter = time.gmtime
    settings = os.environ
    subject_file = settings.get("AGENT_SUBJECT_TOKEN_FILE")
    subject = SubjectToken(subject_file) if subject_file else None
    token = "" if subject else settings.get("AGENT_TOKEN", "")
    if not subject and not token:
        token = Path(settings["AGENT_TOKEN_FILE"]).read_text().strip()
    plane = ControlPlane(settings["CONTROLPLANE_URL"], token, settings.get("AGENT_STATE_FILE"), subject)
    facts: dict[str, Any] = {
        "name": settings["AGENT_NAME"],
        "environment": settings.get("AGENT_ENVIRONMENT", "default"),
        "service_types": [*filter(None, settings.get("AGENT_SERVICE_TYPES", "").split(","))],
        "cost": settings.get("AGENT_COST", "medium"),
        "topic_name": settings.get("AGENT_TOPIC", f"dcm.agent.{settings['AGENT_NAME']}"),
    }
    served = [one.partition("@") for one in settings.get("AGENT_TASK_TYPES", "").split(",") if one]
    facts["task_types"] = [{"name": name, "version": version} for name, _, version in served]
    agent = Agent(plane, facts, settings.get("AGENT_PROVIDERS_FILE"), settings.get("AGENT_WORK_FILE"))
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: agent.stopping.set())
    agent.run()


if __name__ == "__main__":
    main()
