"""A disk without room: reads go on, writes are refused, nobody dies, and writes work once there is room.

Needs the right to mount a tmpfs, as root has.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.launcher import Up
from tests.support.waiting import until

READS = (
    "/api/v1/overrides/effective?domain=staging",
    "/api/v1/overrides?domain=staging",
    "/api/v1/audit",
    "/api/v1/agents",
    "/metrics",
    "/livez",
    "/readyz",
)
ROUNDS = int(os.environ.get("FULL_DISK_ROUNDS", "60"))


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "disk"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=400m", "tmpfs", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


@pytest.fixture
def up(disk: Path) -> Iterator[Up]:
    quick = {"SWEEP_INTERVAL_SECONDS": "1", "HEARTBEAT_INTERVAL_SECONDS": "1", "LEASE_SECONDS": "3"}
    running = Up(disk / "data", "--no-demo", **quick)
    try:
        running.wait_for("Ctrl-C stops everything.", seconds=120)
        yield running
    finally:
        running.stop(signal.SIGTERM)


def ask(up: Up, method: str, path: str, body: object = None) -> tuple[int, bytes]:
    token = (up.data_dir / "admin.token").read_text().strip()
    headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"{up.url}{path}", data, headers, method=method)
    try:
        with urllib.request.urlopen(request, timeout=10) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def write(up: Up, number: int) -> tuple[int, bytes]:
    """Some hundred kilobytes that do not compress well: tables and log must grow."""
    values = {f"k{index}": os.urandom(1000).hex() for index in range(50)}
    path = f"/api/v1/overrides/cluster_resource?domain=staging&project=p{number}"
    status, body = ask(up, "POST", "/api/v1/scopes/projects", {"id": f"p{number}"})
    if status == 503:
        return status, body
    return ask(up, "PUT", path, {"attributes": {"attributes": values}})


def postgres_log(up: Up) -> str:
    return (up.data_dir / "logs" / "postgres.log").read_text()[-3000:]


def lasting(up: Up) -> set[int]:
    """Web with its workers, worker, beat and gRPC: those that stay as long as all is well."""
    words = ("controlplane.serving", "celery", "flyte_grpc")
    return {pid for pid, line in up.children().items() if any(word in line for word in words)}


def fill(folder: Path) -> None:
    with (folder / "filler").open("wb", buffering=0) as filler:
        try:
            while True:
                filler.write(bytes(64 * 1024))
        except OSError:
            pass


def test_with_a_full_disk_reads_go_on_and_writes_are_refused_until_there_is_room(up: Up, disk: Path) -> None:
    assert write(up, 0)[0] == 201
    processes = lasting(up)
    assert len(processes) >= 5

    fill(disk)
    answered: list[int] = []
    for number in range(1, ROUNDS):
        status, body = write(up, number)
        assert status in (201, 503), (body, postgres_log(up))
        answered.append(status)
        reads = {path: ask(up, "GET", path)[0] for path in READS}
        assert set(reads.values()) == {200}, (number, reads, up.output, postgres_log(up))
        fill(disk)
    assert answered[-1] == 503, "the disk was not full"

    (disk / "filler").unlink()
    until(lambda: write(up, ROUNDS)[0] == 201, 15, pause=0.2)
    assert "died" not in up.output
    assert lasting(up) == processes
