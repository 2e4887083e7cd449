"""Built-in services: start Postgres, Valkey and NATS, wait for them, restart them at the same address."""

from __future__ import annotations

import os
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Collection
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

from controlplane.database.roles import ROLES
from controlplane.local.data_folder import hold_lock, private_folder
from controlplane.local.errors import CannotStart
from controlplane.local.leftover_processes import stop_leftovers
from controlplane.local.nats import Nats, NatsOptions
from controlplane.local.postgres import Postgres
from controlplane.local.programs import Program, RunningProgram, start, stop_all, tail
from controlplane.local.valkey import Valkey

ALL = ("postgres", "valkey", "nats")
# The setting with the URL of each service.
SETTING = {"postgres": "DATABASE_URL", "valkey": "REDIS_URL", "nats": "NATS_URL"}
STOP_SECONDS = 4.0

Pause = Callable[[float], None]


START_SECONDS = 60.0
_LOG_LINES = 20
_ANY_PORT = NatsOptions()


class Service(Protocol):
    """A service, whose name, URL and folder stay the same when it is restarted."""

    name: str
    # Number of retries if it exits immediately.
    retries: int

    @property
    def url(self) -> str: ...
    def prepare(self, *, pause: Pause = ...) -> None: ...
    def program(self) -> Program: ...
    def ready(self) -> bool: ...
    def clean_up(self) -> None: ...


@dataclass(slots=True)
class Services:
    """RunningProgram services. Use as a context manager, or call `stop`."""

    services: dict[str, Service] = field(default_factory=dict)
    running: dict[str, RunningProgram] = field(default_factory=dict)
    _at_the_end: ExitStack = field(default_factory=ExitStack)

    @property
    def environment(self) -> dict[str, str]:
        """DATABASE_URL, REDIS_URL and NATS_URL of these services, and the key of logins at NATS."""
        urls = {SETTING[name]: service.url for name, service in self.services.items()}
        nats = self.nats
        return {**urls, **(nats.environment if nats else {})}

    @property
    def nats(self) -> Nats | None:
        """Return the built-in NATS, if there is one."""
        service = self.services.get("nats")
        return service if isinstance(service, Nats) else None

    def database_urls(self) -> dict[str, str]:
        """Create the roles and return the DATABASE_URL of each; empty without a built-in Postgres."""
        postgres = self.services.get("postgres")
        if not isinstance(postgres, Postgres):
            return {}
        postgres.establish_roles()
        return {role: postgres.url_for(role) for role in ROLES}

    def dead(self) -> list[str]:
        return [name for name, running in self.running.items() if not running.alive()]

    def start(self, name: str, *, pause: Pause = time.sleep) -> RunningProgram:
        """Start a stopped service at its address, without waiting until it is ready."""
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
            service.clean_up()
        self._at_the_end.close()

    def __enter__(self) -> Services:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()


def start_services(
    data_dir: Path,
    *,
    durable: bool,
    names: Collection[str] = ALL,
    nats: NatsOptions = _ANY_PORT,
    pause: Pause = time.sleep,
) -> Services:
    """Start services below `data_dir`, and return when all are ready. Raises CannotStart.

    `pause` is called while waiting; the supervisor's raises StopRequested.
    """
    folder = private_folder(data_dir).resolve()
    group = Services()
    group._at_the_end.enter_context(hold_lock(folder / "services.lock"))
    try:
        stop_leftovers(folder, pause=pause)
        group.services = _build(folder, durable=durable, names=names, nats=nats)
        # Postgres is the slowest: the others start while it creates its folder.
        for name in reversed(group.services):
            group.start(name, pause=pause)
        group.wait_until_ready(pause=pause)
    except BaseException:
        group.stop()
        raise
    return group


def _remove_postgres_variables() -> None:
    """Remove variables such as PGSERVICE and PGHOSTADDR, which would redirect clients in this process."""
    for name in [name for name in os.environ if name.startswith("PG")]:
        del os.environ[name]


def _build(folder: Path, *, durable: bool, names: Collection[str], nats: NatsOptions) -> dict[str, Service]:
    logs = folder / "logs"
    services: dict[str, Service] = {}
    if "postgres" in names:
        _remove_postgres_variables()
        services["postgres"] = Postgres(folder / "postgres", logs / "postgres.log", durable=durable)
    if "valkey" in names:
        services["valkey"] = Valkey(folder / "valkey", logs / "valkey.log")
    if "nats" in names:
        services["nats"] = Nats(folder / "nats", logs / "nats.log", nats, durable=durable)
    return services


def wait_until(
    ready: Callable[[], bool],
    running: RunningProgram,
    *,
    pause: Callable[[float], None],
    seconds: float = START_SECONDS,
) -> None:
    """Wait until a program is ready. Raises CannotStart with its log if it exits or takes too long."""
    deadline = time.monotonic() + seconds
    while not ready():
        if not running.alive():
            raise CannotStart(_failure_message(running, f"exited with code {running.process.returncode}"))
        if time.monotonic() > deadline:
            raise CannotStart(_failure_message(running, f"was not ready after {seconds:g} s"))
        pause(0.03)


def web_answers(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:  # noqa: S310  (our own URL)
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def worker_answers(broker: str, worker: str) -> bool:
    """True if the Celery worker with this name responds through this broker."""
    from celery import Celery

    app = Celery(broker=broker, set_as_current=False)
    try:
        return bool(app.control.ping(timeout=0.3, limit=1, destination=[worker]))
    except Exception:  # the broker's client has its own exceptions; all mean "not ready"
        return False
    finally:
        app.close()


def _failure_message(running: RunningProgram, what: str) -> str:
    log = running.program.log
    return f"{running.name} {what}. End of {log}:\n{tail(log, _LOG_LINES)}"
