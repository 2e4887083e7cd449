"""Fixtures: the services, principals with tokens, an API client, and a whole system of real processes."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.core.cache import cache
from django.db import connection
from schemathesis.pytest.plugin import SchemathesisFunction

from controlplane.api import throttles
from controlplane.database import roles
from controlplane.database.roles import WEB, WORKER
from controlplane.local import Services
from controlplane.local.programs import Program, free_port, start, stop_all, tail
from tests.support.api_client import Api, token_for
from tests.support.emptying import empty_quickly
from tests.support.identity_provider import IdentityProvider
from tests.support.paths import ROOT
from tests.support.properties import load_profile
from tests.support.services_plugin import running_services
from tests.support.shared_handler import share_handlers
from tests.support.waiting import is_reachable, until

load_profile()
share_handlers()

# Short enough to watch an agent fall silent in a test.
QUICK_LIVENESS = {"HEARTBEAT_INTERVAL_SECONDS": "1", "LEASE_SECONDS": "3", "SWEEP_INTERVAL_SECONDS": "1"}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Give generated tests the names of their operations as ids.

    schemathesis 4.32 and pytest 9.2 make one id for all of them, and xdist runs one test an id.
    """
    if isinstance(item, SchemathesisFunction) and item.id.params is None:
        item._id = item.id.with_params(item.operation_label)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse two tests with one id, of which xdist would quietly run one."""
    twice = [test for test, number in Counter(item.nodeid for item in items).items() if number > 1]
    if twice:
        raise pytest.UsageError(f"More than one test has the id {twice[0]}. Only one would run: rename it.")


def pytest_collection_finish() -> None:
    """Tests stay in memory to the end: each collection of garbage looked through all of them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def services() -> Services:
    return running_services()


@pytest.fixture(autouse=True)
def _empty_cache() -> None:
    """No test counts the requests of another one, neither in Valkey nor in this process."""
    cache.clear()
    throttles.start_over()


@pytest.fixture
def api(db: None) -> Api:
    """The API as an administrator of everything."""
    return Api(token_for("admin"))


@pytest.fixture(scope="session")
def identity_provider(tmp_path_factory: pytest.TempPathFactory) -> Iterator[IdentityProvider]:
    """A real OpenID provider, for the in-process server at http://testserver."""
    provider = IdentityProvider(tmp_path_factory.mktemp("identity-provider"))
    yield provider
    provider.stop()


@pytest.fixture(scope="session")
def django_db_modify_db_settings() -> None:
    """An emptying that meets a task of the running worker is not the one that has to give way.

    The limits of locks and statements are far above it: autovacuum gives way to a waiter only at the waiter's
    deadlock timeout, and what a test does to whole tables may take long on a busy machine.
    """
    if settings.DATABASE_POOLER != "none":
        return
    options = connection.settings_dict["OPTIONS"]
    limits = "-c deadlock_timeout=20s -c lock_timeout=60s -c statement_timeout=120s"
    options["options"] = f"{options.get('options', '')} {limits}"


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: Any) -> None:
    """Transactional tests leave what the migrations put in."""
    with django_db_blocker.unblock():
        empty_quickly()


def as_application(environment: dict[str, str], name: str) -> dict[str, str]:
    """The environment of one process: as in an installation, its role owns no table."""
    role = WORKER if name in ("worker", "beat") else WEB
    url = environment["DATABASE_URL"].replace("//controlplane@", f"//{role}@")
    return {**environment, "DATABASE_URL": url}


class System:
    """A web server, a Celery worker and beat: real processes on the test database.

    of_process: variables of single processes, by name.
    """

    def __init__(
        self,
        environment: dict[str, str],
        folder: Path,
        port: int | None = None,
        *,
        of_process: Mapping[str, Mapping[str, str]] | None = None,
    ) -> None:
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.grpc_port = free_port()
        environment = {
            **environment,
            "FLYTE_GRPC_PORT": str(self.grpc_port),
            "PUBLIC_URL": self.url,
            # Several test processes may wait for a login at once.
            "FLYTE_CLIENT_REDIRECT_URI": f"http://localhost:{free_port()}/callback",
        }
        self.environment = environment
        self.folder = folder
        python, app = sys.executable, ("-m", "celery", "-A", "controlplane")
        worker = ("worker", "--without-gossip", "--without-mingle", "--concurrency", "1", "-l", "WARNING")
        beat = ("beat", "--schedule", str(folder / "beat"), "--pidfile", "", "-l", "WARNING")
        web = ("-m", "controlplane.serving", "--port", str(self.port), "--workers", "2")
        commands = {
            "web": (python, *web),
            "worker": (python, *app, *worker),
            "beat": (python, *app, *beat),
            "flyte-grpc": (python, str(ROOT / "manage.py"), "flyte_grpc", "--skip-checks"),
        }
        self.running = [
            start(
                Program(name, command, folder / f"{name}.log", {**as_application(environment, name), **own})
            )
            for name, command in commands.items()
            for own in ((of_process or {}).get(name, {}),)
        ]

    @property
    def beat(self) -> subprocess.Popen[bytes]:
        return next(program.process for program in self.running if program.name == "beat")

    def wait_until_ready(self) -> None:
        until(lambda: is_reachable(f"{self.url}/readyz"), 150, lambda: tail(self.folder / "web.log", 30))


def system_environment(services: Services) -> dict[str, str]:
    """The environment of processes on the test database, whose roles exist then."""
    database = services.environment["DATABASE_URL"].replace(
        "@/controlplane?", f"@/{settings.DATABASES['default']['NAME']}?"
    )
    environment = {
        **services.environment,
        **QUICK_LIVENESS,
        "DATABASE_URL": database,
        "DJANGO_SETTINGS_MODULE": "controlplane.settings.test",
        "PYTHONPATH": str(ROOT),
        "SECRET_KEY": settings.SECRET_KEY,
        # As in `make up`: a third of what a start costs. test_production.py starts them with the checks.
        "CELERY_SKIP_CHECKS": "1",
        # Many tests send bad tokens from this one address; the limit has tests of its own.
        "THROTTLE_ANONYMOUS_PER_MINUTE": "0",
        # Receivers of webhooks in tests listen here.
        "OUTGOING_ALLOWED_NETWORKS": "127.0.0.0/8",
        "WEBHOOK_ALLOW_HTTP": "true",
    }
    with psycopg.connect(database) as administrator, administrator.cursor() as cursor:
        roles.establish(cursor, passwords={})
    return environment


@pytest.fixture(scope="session")
def system(
    services: Services, django_db_setup: None, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[System]:
    environment = system_environment(services)
    metrics = tmp_path_factory.mktemp("metrics")
    environment["PROMETHEUS_MULTIPROC_DIR"] = str(metrics)
    running = System(environment, tmp_path_factory.mktemp("system"))
    try:
        running.wait_until_ready()
        yield running
    finally:
        running.beat.send_signal(signal.SIGCONT)
        stop_all(running.running, patience=5)


@pytest.fixture
def live(system: System, transactional_db: None) -> Iterator[System]:
    """The running system, with a database that is empty before and after.

    Only meanwhile beat runs: its sweeps would take part in tests that sweep themselves.
    """
    assert os.environ["DATABASE_URL"]
    system.beat.send_signal(signal.SIGCONT)
    try:
        yield system
    finally:
        system.beat.send_signal(signal.SIGSTOP)
