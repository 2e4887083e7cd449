"""Start the three services together and wait for them."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from controlplane.embedded.nats import Nats
from controlplane.embedded.postgres import Postgres
from controlplane.embedded.programs import Program, Running, start, stop_all, tail
from controlplane.embedded.valkey import Valkey

ALL = ("postgres", "valkey", "nats")
# The setting that tells the others where a service is.
SETTING = {"postgres": "DATABASE_URL", "valkey": "REDIS_URL", "nats": "NATS_URL"}
START_SECONDS = 60.0
STOP_SECONDS = 5.0
_TRIES = 5
_BETWEEN_TRIES_SECONDS = 0.5


class Service(Protocol):
    name: str

    @property
    def url(self) -> str: ...
    def prepare(self) -> None: ...
    def program(self) -> Program: ...
    def ready(self) -> bool: ...
    def clean_up(self) -> None: ...


class DidNotStart(Exception):
    """A process did not become ready; the message has the end of its log."""


@dataclass(slots=True)
class Services:
    """Running services. Use as a context manager, or call `stop`."""

    services: list[Service]
    running: dict[str, Running] = field(default_factory=dict)

    @property
    def environment(self) -> dict[str, str]:
        return {SETTING[one.name]: one.url for one in self.services}

    def stop(self) -> None:
        stop_all(self.running.values(), patience=STOP_SECONDS)
        for service in self.services:
            service.clean_up()

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


def start_services(
    data_dir: Path,
    *,
    durable: bool,
    wanted: Collection[str] = ALL,
    pause: Callable[[float], None] = time.sleep,
) -> Services:
    """Start what is wanted below `data_dir`; return when all answer. Raises DidNotStart.

    `pause` is called while waiting; a supervisor lets it raise when it was told to stop.
    """
    group = Services([one for one in _build(data_dir, durable=durable) if one.name in wanted])
    try:
        for service in group.services:
            service.prepare()
            group.running[service.name] = start(service.program())
        for service in group.services:
            _wait_or_start_again(service, group.running, pause)
    except BaseException:
        group.stop()
        raise
    return group


def wait_until(
    ready: Callable[[], bool],
    running: Running,
    *,
    pause: Callable[[float], None],
    seconds: float = START_SECONDS,
) -> None:
    """Return once it is ready. Raises DidNotStart if it ends, or takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        if not running.alive() or time.monotonic() > deadline:
            what = f"ended ({running.process.returncode})" if not running.alive() else "did not become ready"
            log = running.program.log
            raise DidNotStart(f"{running.name} {what}. Its log, {log}, ends with:\n{tail(log, 20)}")
        pause(0.03)


def _wait_or_start_again(
    service: Service, running: dict[str, Running], pause: Callable[[float], None]
) -> None:
    """After kill -9 the first start can fail: backends of the old Postgres still hold its shared memory."""
    for _ in range(_TRIES):
        try:
            wait_until(service.ready, running[service.name], pause=pause)
        except DidNotStart:
            if running[service.name].alive():
                raise
            pause(_BETWEEN_TRIES_SECONDS)
            running[service.name] = start(service.program())
        else:
            return
    wait_until(service.ready, running[service.name], pause=pause)


def _build(data_dir: Path, *, durable: bool) -> list[Service]:
    logs = data_dir / "logs"
    return [
        Postgres(data_dir / "postgres", logs / "postgres.log", durable=durable),
        Valkey(data_dir / "valkey", logs / "valkey.log"),
        Nats(data_dir / "nats", logs / "nats.log", durable=durable),
    ]
