"""Starts real Postgres, Valkey and NATS before Django reads its settings, and stops them at the end.

A plugin and not a conftest: pytest-django configures Django before any conftest is read.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Generator
from pathlib import Path

import pytest

from controlplane.embedded import Services, start_services

_started: list[tuple[Services, Path]] = []


@pytest.hookimpl(wrapper=True)
def pytest_load_initial_conftests() -> Generator[None]:
    folder = Path(tempfile.mkdtemp(prefix="cp-test-"))
    services = start_services(folder, durable=False)
    _started.append((services, folder))
    # The suite's own, whatever the shell says: tests must never meet a real installation.
    os.environ.update(services.environment)
    os.environ["DJANGO_SETTINGS_MODULE"] = "controlplane.settings.test"
    os.environ["DATA_DIR"] = str(folder / "none")
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    for name in ("PROMETHEUS_MULTIPROC_DIR", "SECRET_KEY", "PORT", "DEMO", "ANONYMOUS_READ"):
        os.environ.pop(name, None)
    return (yield)


def pytest_unconfigure() -> None:
    for services, folder in _started:
        services.stop()
        shutil.rmtree(folder, ignore_errors=True)
    _started.clear()


def running_services() -> Services:
    return _started[0][0]
