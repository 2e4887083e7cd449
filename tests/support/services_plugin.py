"""Starts real Postgres, Valkey and NATS before Django reads its settings, and stops them at the end.

A plugin and not a conftest: pytest-django configures Django before any conftest is read. Where several
processes share the tests (`pytest -n 4`), each has services of its own and meets none of the others.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from controlplane.local import Services, start_services
from controlplane.local.data_folder import secrets_key_file
from controlplane.local.nats import NatsOptions
from tests.support.pgbouncer import PgBouncer

# Tests start our programs some two hundred times: compiled once, each starts a third sooner.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
# Its handlers of a fork abort programs that we start while a client of gRPC is open in this process.
os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"

_started: list[tuple[Services, Path]] = []
_poolers: list[PgBouncer] = []


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Generator[None]:
    # The suite's own, whatever the shell says: tests must never meet a real installation.
    for name in (
        "PROMETHEUS_MULTIPROC_DIR",
        "SECRET_KEY",
        "PORT",
        "DEMO",
        "ANONYMOUS_READ",
        "DATABASE_REPLICA_URL",
    ):
        os.environ.pop(name, None)
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        del os.environ[name]
    os.environ["DJANGO_SETTINGS_MODULE"] = "controlplane.settings.test"
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    if not _only_hands_out_tests(early_config):
        _start()
    return (yield)


def _only_hands_out_tests(config: pytest.Config) -> bool:
    """Whether this process runs no test itself: xdist's controller."""
    return bool(config.known_args_namespace.numprocesses) and "PYTEST_XDIST_WORKER" not in os.environ


def _start() -> None:
    folder = Path(tempfile.mkdtemp(prefix="cp-test-"))
    services = start_services(folder, durable=False, nats=NatsOptions(dcm_agents=True))
    _started.append((services, folder))
    os.environ.update(services.environment)
    if "THROUGH_PGBOUNCER" in os.environ:
        _start_pooler(services)
    os.environ["DATA_DIR"] = str(folder / "none")
    os.environ["SECRETS_KEY_FILE"] = str(secrets_key_file(folder))


def _start_pooler(services: Services) -> None:
    """Have Django, and all programs of the tests, reach Postgres through PgBouncer in transaction mode."""
    direct = services.environment["DATABASE_URL"]
    pooler = PgBouncer(direct)
    _poolers.append(pooler)
    os.environ.update(DATABASE_URL=pooler.url(), DATABASE_DIRECT_URL=direct, DATABASE_POOLER="transaction")


def pytest_unconfigure() -> None:
    for pooler in _poolers:
        pooler.stop()
    _poolers.clear()
    for services, folder in _started:
        services.stop()
        shutil.rmtree(folder, ignore_errors=True)
    _started.clear()


def running_services() -> Services:
    return _started[0][0]
