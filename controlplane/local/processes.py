"""What `make up` runs on top of the services: web, Flyte's gRPC port, worker, beat, and the demo's agents."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

from controlplane.database.roles import WEB, WORKER
from controlplane.extras import is_installed
from controlplane.local.programs import Program

ROOT = Path(__file__).resolve().parents[2]
_CELERY = (sys.executable, "-m", "celery", "--workdir", str(ROOT), "-A", "controlplane")
# There is only this worker: nobody to gossip with.
_ALONE = ("--without-gossip", "--without-mingle", "--concurrency", "2", "--loglevel", "WARNING")
_WEB = (
    *(sys.executable, "-m", "controlplane.serving", "--interface", "asgi", "--host", "127.0.0.1", "--no-ws"),
    *("--workers", "2", "--backpressure", "8192", "--respawn-failed-workers"),
    # Its own patience with busy requests must be shorter than ours with it.
    *("--workers-kill-timeout", "3", "--log-level", "warning", "--no-access-log"),
)
# Everybody else answers requests.
_ROLE = {"worker": WORKER, "beat": WORKER}
_MANAGE = (sys.executable, str(ROOT / "manage.py"))
# The settings read NAME_FILE before NAME, and here it has been read already.
_WITHHELD = ("DATABASE_URL_FILE", "REDIS_URL_FILE", "NATS_URL_FILE", "SECRET_KEY_FILE")


def bytecode(folder: Path) -> dict[str, str]:
    """Where compiled Python goes if it may not lie beside its source: it halves the time of a start."""
    if not sys.dont_write_bytecode:
        return {}
    return {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": str(folder / "run" / "bytecode")}


def prepare(folder: Path, environment: Mapping[str, str], *, demo: bool) -> Program:
    command = (*_MANAGE, "prepare", "--data-dir", str(folder), *(("--demo",) if demo else ()))
    # Within the limits of a web request a long migration of a big database could not run.
    patient = {**environment, "DATABASE_STATEMENT_TIMEOUT_MS": "0"}
    return _program("prepare", command, folder, patient)


def long_running(
    folder: Path,
    environment: Mapping[str, str],
    databases: Mapping[str, str],
    *,
    schedule: Path,
    port: int,
    worker: str,
    demo: bool,
) -> Iterable[Program]:
    """databases: DATABASE_URL of each role. schedule: beat's file. worker: the name that it answers to."""
    commands: dict[str, tuple[str, ...]] = {
        "web": (*_WEB, "--port", str(port), "controlplane.asgi:application"),
        "worker": (*_CELERY, "worker", *_ALONE, "--hostname", worker),
        "beat": (*_CELERY, "beat", "--schedule", str(schedule), "--pidfile", "", "--loglevel", "WARNING"),
    }
    if is_installed("flyte"):
        commands["flyte-grpc"] = (*_MANAGE, "flyte_grpc")
    if demo:
        commands["demo-agents"] = (*_MANAGE, "demo_agents", "--url", f"http://127.0.0.1:{port}")
    return [
        _program(name, command, folder, {**environment, "DATABASE_URL": databases[_ROLE.get(name, WEB)]})
        for name, command in commands.items()
    ]


def _program(name: str, command: tuple[str, ...], folder: Path, environment: Mapping[str, str]) -> Program:
    log = folder / "logs" / f"{name}.log"
    return Program(name, command, log, environment, withheld=_WITHHELD, directory=ROOT)
