"""FlytePropeller's own resource manager, from its Go module, with 64 clients: never more than the capacity.

The same program on Valkey shows what it does without us.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
import redis
from django.conf import settings

from controlplane.pools.models import Pool, PoolLease
from tests.support.api_client import token_for
from tests.support.paths import ROOT
from tests.support.redis_door import running_door

pytestmark = pytest.mark.skipif(shutil.which("go") is None, reason="Go is not installed")
CAPACITY = 3


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("go") / "propeller_pools"
    shutil.copytree(ROOT / "tests/nightly/propeller_pools", folder)
    for command in (["go", "mod", "tidy"], ["go", "build", "-o", "propeller_pools", "."]):
        subprocess.run(command, cwd=folder, check=True, timeout=900)
    return folder / "propeller_pools"


def run(program: Path, address: str, password: str, *, rounds: int, quota: int) -> dict[str, int]:
    options = {"address": address, "password": password, "rounds": rounds, "quota": quota, "clients": 64}
    arguments = [f"-{name}={value}" for name, value in options.items()]
    ran = subprocess.run([str(program), *arguments], capture_output=True, text=True, timeout=300, check=False)
    assert ran.returncode == 0, ran.stderr[-2000:]
    return json.loads(ran.stdout.splitlines()[-1])


def test_units_are_never_granted_twice(live: Any, program: Path) -> None:
    Pool.objects.create(name="agent-service:default", capacity=CAPACITY)
    with running_door(live) as port:
        ours = run(program, f"127.0.0.1:{port}", token_for("operator"), rounds=20, quota=1000)
    valkey = urlsplit(settings.REDIS_URL)
    redis.Redis.from_url(settings.REDIS_URL).delete("redisresourcemanager:agent-service:default")
    theirs = run(
        program, f"{valkey.hostname}:{valkey.port}", valkey.password or "", rounds=20, quota=CAPACITY
    )

    print(f"capacity {CAPACITY}, 64 clients, 20 rounds: ours {ours}, upstream on Valkey {theirs}")
    assert ours["most"] == CAPACITY
    assert ours["granted"] >= 20 * CAPACITY
    assert theirs["most"] > CAPACITY, "Upstream no longer exceeds its quota: change the guide."
    assert not PoolLease.objects.filter(state__in=["granted", "waiting"]).exists()
