"""The demo's process: tells the story once, and then plays the agents, the waiting work and the receiver."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from controlplane.demo.calls import Caller, Refused
from controlplane.demo.cast import JOBS, Cast, cast, new_token
from controlplane.demo.chapters import (
    access,
    configuration,
    dead_letter,
    fleet,
    outgoing,
    plugins,
    pools,
    publishing,
    resources,
)
from controlplane.demo.fleet import Fleet
from controlplane.demo.receiver import start_receiver
from controlplane.demo.requests import Requests
from controlplane.demo.seed import AGENTS_PRINCIPAL
from controlplane.errors import UnknownPrincipal
from controlplane.local.demo_record import DemoRecord, read_record, with_chapter, write_record

_RETRY_SECONDS = 1.0
_STEADY_SECONDS = 20.0
_LONG_POLL_SECONDS = 20
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Stage:
    """receiver: URL of the demo's webhooks. agents: calls the API as the demo's agents."""

    url: str
    folder: Path
    receiver: str
    agents: Caller


def run(url: str, folder: Path) -> None:
    """Run until killed. The control plane may be unreachable for a while."""
    try:
        token = new_token(AGENTS_PRINCIPAL)
    except UnknownPrincipal:
        log.warning("The demo's agents are gone. There is nothing to do.")
        threading.Event().wait()
    agents = Caller(url, token)
    _wait_until(lambda: agents("GET", "agents?limit=1"))
    record = read_record(folder) or DemoRecord()
    if record.tells:
        _start("story", _tell_and_keep_up, _Stage(url, folder, _receiver_url(record), Caller(url, token)))
    played = Fleet(agents)
    while True:
        _tolerate(lambda: played.step(time.monotonic()))
        time.sleep(_RETRY_SECONDS)


def _start(name: str, target: Callable[..., None], *arguments: object) -> None:
    threading.Thread(target=target, args=arguments, daemon=True, name=name).start()


def _wait_until(attempt: Callable[[], object]) -> None:
    while not _tolerate(attempt):
        time.sleep(_RETRY_SECONDS)


def _tolerate(action: Callable[[], object]) -> bool:
    """Do it, and return whether that went well. A refusal that will not pass by itself is raised."""
    try:
        action()
    except Refused as error:
        if error.status < 500 and error.status != 429:
            raise
        return False
    except OSError:
        return False
    return True


def _receiver_url(record: DemoRecord) -> str:
    if not record.receiver_port:
        return ""
    try:
        start_receiver(record.receiver_port)
    except OSError as error:
        log.warning("No receiver of webhooks: port %s: %s", record.receiver_port, error)
    return f"http://127.0.0.1:{record.receiver_port}"


def _tell_and_keep_up(stage: _Stage) -> None:
    _tell(stage)
    token = new_token(JOBS)
    _start("requests", _provision, stage.agents, Caller(stage.url, token))
    work = Cast(stage.url, stage.folder, stage.receiver, {JOBS: token})
    while True:
        with suppress(OSError, Refused):
            pools.wait_in_queue(work)
            for name in publishing.DATA_PLANES:
                publishing.acknowledge(work, name)
        time.sleep(_STEADY_SECONDS)


def _tell(stage: _Stage) -> None:
    chapters: dict[str, Callable[[Cast], None]] = {
        "access": access.tell,
        "outgoing": outgoing.tell,
        "fleet": lambda story: fleet.tell(story, stage.agents),
        "configuration": configuration.tell,
        "publishing": publishing.tell,
        "resources": resources.tell,
        "pools": pools.tell,
        "dead letter": dead_letter.tell,
        "plugins": plugins.tell,
    }
    record = read_record(stage.folder) or DemoRecord()
    if set(record.chapters) >= chapters.keys():
        return
    with cast(stage.url, stage.folder / "demo", stage.receiver) as story:
        for name, tell in chapters.items():
            if name not in record.chapters and _is_told(name, partial(tell, story)):
                record = with_chapter(record, name)
                write_record(stage.folder, record)


def _is_told(name: str, tell: Callable[[], None]) -> bool:
    """Run one chapter. False: the server was not reachable, so the next start runs it again."""
    try:
        tell()
    except Refused as error:
        log.warning("The demo's chapter %s ends early: %s", name, error)
    except OSError as error:
        log.warning("The demo's chapter %s waits for the next start: %s", name, error)
        return False
    return True


def _provision(agents: Caller, reader: Caller) -> None:
    """Fetch and answer the requests of the demo's agents."""
    requests = Requests(agents, reader)
    while True:
        try:
            requests.step(time.monotonic(), wait=_LONG_POLL_SECONDS)
        except (OSError, Refused):
            time.sleep(_STEADY_SECONDS / 4)
