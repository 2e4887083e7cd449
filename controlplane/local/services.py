"""Start the three services together, wait for them, start one again at the same address."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from controlplane.database.roles import ROLES
from controlplane.local.errors import CannotStart
from controlplane.local.leftover_processes import stop_orphans
from controlplane.local.nats import Nats
from controlplane.local.postgres import Postgres
from controlplane.local.private_files import held, private_folder
from controlplane.local.programs import Program, Running, start, stop_all
from controlplane.local.readiness import wait_until
from controlplane.local.valkey import Valkey

ALL = ("postgres", "valkey", "nats")
# The setting that tells the others where a service is.
SETTING = {"postgres": "DATABASE_URL", "valkey": "REDIS_URL", "nats": "NATS_URL"}
STOP_SECONDS = 4.0

Pause = Callable[[float], None]


class Service(Protocol):
    """What does not change while it lives and dies: its name, its address, its folder."""

    name: str
    # How often a start that ended at once is worth repeating.
    retries: int

    @property
    def url(self) -> str: ...
    def prepare(self, *, pause: Pause = ...) -> None: ...
    def program(self) -> Program: ...
    def ready(self) -> bool: ...
    def clear_away(self) -> None: ...


@dataclass(slots=True)
class Services:
    """Running services. Use as a context manager, or call `stop`."""

    services: dict[str, Service] = field(default_factory=dict)
    running: dict[str, Running] = field(default_factory=dict)
    _at_the_end: ExitStack = field(default_factory=ExitStack)

    @property
    def environment(self) -> dict[str, str]:
        """DATABASE_URL, REDIS_URL, NATS_URL: of those that were wanted."""
        return {SETTING[name]: service.url for name, service in self.services.items()}

    def database_urls(self) -> dict[str, str]:
        """DATABASE_URL of each role, once the roles exist; empty without a Postgres of ours."""
        postgres = self.services.get("postgres")
        if not isinstance(postgres, Postgres):
            return {}
        postgres.establish_roles()
        return {role: postgres.url_for(role) for role in ROLES}

    def dead(self) -> list[str]:
        return [name for name, running in self.running.items() if not running.alive()]

    def start(self, name: str, *, pause: Pause = time.sleep) -> Running:
        """Start one that does not run; it comes back at its address. Does not wait until it answers."""
        if name in self.running and self.running[name].alive():
            return self.running[name]
        self.services[name].prepare(pause=pause)
        self.running[name] = start(self.services[name].program())
        return self.running[name]

    def wait_until_ready(self, *, pause: Pause = time.sleep) -> None:
        """Return when all answer. Raises CannotStart."""
        for name in self.services:
            self._wait_for(name, pause)

    def _wait_for(self, name: str, pause: Pause) -> None:
        service = self.services[name]
        for _ in range(service.retries):
            try:
                return wait_until(service.ready, self.running[name], pause=pause)
            except CannotStart:
                if self.running[name].alive():
                    raise
            pause(1.0)
            self.start(name, pause=pause)
        return wait_until(service.ready, self.running[name], pause=pause)

    def stop(self, *, hurry: Callable[[], bool] = lambda: False) -> None:
        stop_all(self.running.values(), patience=STOP_SECONDS, hurry=hurry)
        for service in self.services.values():
            service.clear_away()
        self._at_the_end.close()

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


def start_services(
    data_dir: Path, *, durable: bool, wanted: Collection[str] = ALL, pause: Pause = time.sleep
) -> Services:
    """Start what is wanted below `data_dir`; return when all answer. Raises CannotStart.

    `pause` is called while waiting; a supervisor lets it raise when it was told to stop.
    """
    folder = private_folder(data_dir).resolve()
    group = Services()
    group._at_the_end.enter_context(held(folder / "services.lock"))
    try:
        stop_orphans(folder, pause=pause)
        group.services = _build(folder, durable=durable, wanted=wanted)
        # Postgres is the slowest: the others start while it makes its folder.
        for name in reversed(group.services):
            group.start(name, pause=pause)
        group.wait_until_ready(pause=pause)
    except BaseException:
        group.stop()
        raise
    return group


def _forget_other_postgres() -> None:
    """PGSERVICE, PGHOSTADDR and their like would lead every client in this process elsewhere."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        del os.environ[name]


def _build(folder: Path, *, durable: bool, wanted: Collection[str]) -> dict[str, Service]:
    logs = folder / "logs"
    built: dict[str, Service] = {}
    if "postgres" in wanted:
        _forget_other_postgres()
        built["postgres"] = Postgres(folder / "postgres", logs / "postgres.log", durable=durable)
    if "valkey" in wanted:
        built["valkey"] = Valkey(folder / "valkey", logs / "valkey.log")
    if "nats" in wanted:
        built["nats"] = Nats(folder / "nats", logs / "nats.log", durable=durable)
    return built
