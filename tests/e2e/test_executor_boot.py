"""The init container's programs against a real server, in several shells and as other users."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.identity.roles import Role
from controlplane.scopes import Scope
from registry.jobs.models import JobRun
from registry.plugins.pods.commands import executor_command
from registry.plugins.pods.requests import Shape
from tests.support.api_client import Api, token_for
from tests.support.paths import ROOT
from tests.support.plugin_sets import release_plugins

BOOT = ROOT / "deploy/boot"
STAND_IN = ROOT / "tests/support/docker_stand_in.py"
AT = "2026-11-24T02:00:00Z"
VALUE = 'it\'s $HOME `id` "q"\n\\n two é $(id)'
JOB = """version: 2
name: orders.daily
owner: shop-team
schedule: {start_date: "2026-11-01"}
task:
  name: bq
  config: {PLAIN: "{{.proj.PLAIN}}", PASSWORD: "{{.secret.warehouse}}"}
  window: {size: 24h, offset: "0", truncate_to: d}
"""
SCRIPT = """printf '%s' "$PLAIN" > "$OUT/plain"
printf '%s' "$PASSWORD" > "$OUT/password"
cat "$JOB_DIR/in/sql/query.sql" > "$OUT/query"
"""
SHELL_PROGRAM = "entrypoint_init_container.sh"
PROGRAMS = {
    "dash": ["dash", SHELL_PROGRAM],
    "bash": ["bash", "--posix", SHELL_PROGRAM],
    "busybox": ["busybox", "sh", SHELL_PROGRAM],
    # The system's, which every user can run.
    "python": ["python3", "boot.py"],
}
PLACES = "/usr/local/bin:/usr/bin:/bin"
NAME_OF_RUN = 'manual "1" \\ + é'
BOOT_USER, EXECUTOR_USER, STRANGER, GROUP = 10001, 12345, 23456, 10001
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="Only root can run programs as other users.")


@pytest.fixture(params=PROGRAMS)
def program(request: pytest.FixtureRequest, room: Path) -> list[str]:
    """The command of a program, of which every user can read a copy."""
    *command, name = PROGRAMS[request.param]
    if shutil.which(command[0], path=PLACES) is None:
        pytest.skip(f"No {command[0]} here. Install the package `{command[0]}`.")
    shutil.copy(BOOT / name, room)
    return [*command, str(room / name)]


@pytest.fixture
def room() -> Iterator[Path]:
    """A folder into which every user can look, unlike those of pytest."""
    with tempfile.TemporaryDirectory(prefix="boot-") as name:
        os.chmod(name, 0o755)
        yield Path(name)


@pytest.fixture
def volume(room: Path) -> Path:
    """The volume of a pod. Its group can write, as with fsGroup."""
    folder = room / "volume"
    folder.mkdir()
    os.chmod(folder, 0o777)
    return folder


def prepare(text: str = JOB) -> str:
    """A job whose values are hard on shells; returns the token of its executor."""
    admin = Api(token_for("admin"))
    for path, body in (
        ("jobs/shop/orders.daily", {"text": text, "assets": {"sql/query.sql": "day >= '{{.DSTART}}'"}}),
        ("job-variables/shop", {"variables": {"PLAIN": VALUE}}),
        ("job-secrets/shop/warehouse", {"value": VALUE}),
    ):
        if path.startswith("jobs/"):
            admin.post("scopes/projects", {"id": "shop"})
        answer = admin.put(path, body)
        assert answer.status_code == 200, answer.content
    release_plugins("bq", script=SCRIPT)
    return token_for(Role.EXECUTOR, scope=Scope(project="shop"))


def boot(program: list[str], live: Any, volume: Path, token: str, **changed: str) -> Any:
    secret = volume.parent / "token"
    secret.write_text(token)
    os.chmod(secret, 0o644)
    environment = {
        "PATH": PLACES,
        "BOOT_WITHOUT_PYTHON": "1",
        "JOB_DIR": str(volume),
        "JOB_NAME": "orders.daily",
        "OPTIMUS_HOST": live.url,
        "PROJECT": "shop",
        "SCHEDULED_AT": AT,
        "INSTANCE_TYPE": "task",
        "INSTANCE_NAME": "bq",
        "CONTROLPLANE_TOKEN_FILE": str(secret),
        **changed,
    }
    return subprocess.run(
        [*as_user(BOOT_USER), *program], env=environment, capture_output=True, text=True, cwd="/", check=False
    )


def as_user(user: int, group: int = GROUP) -> list[str]:
    return ["setpriv", f"--reuid={user}", f"--regid={group}", "--clear-groups"]


@as_root
def test_an_executor_of_another_user_sees_every_value_intact(live, program, volume, room):
    done = boot(program, live, volume, prepare())
    assert done.returncode == 0, done.stderr
    assert VALUE[:4] not in done.stdout + done.stderr
    out = room / "out"
    out.mkdir()
    os.chmod(out, 0o777)

    command = executor_command("/bin/sh", str(volume), Shape.WRAPPER)
    environment = {"PATH": PLACES, "OUT": str(out), "JOB_DIR": str(volume)}
    subprocess.run([*as_user(EXECUTOR_USER), *command], env=environment, check=True, cwd="/")

    assert (out / "plain").read_text() == VALUE
    assert (out / "password").read_text() == VALUE
    assert (out / "query").read_text() == "day >= '2026-11-23T00:00:00Z'"
    assert (volume / "in/secret").stat().st_mode & 0o777 == 0o440
    stranger = [*as_user(STRANGER, STRANGER), "cat", str(volume / "in/secret")]
    assert subprocess.run(stranger, capture_output=True, check=False).returncode != 0
    assert [path.name for path in volume.iterdir()] == ["in"]


@as_root
def test_the_program_for_docker_boots_and_runs_the_job(live, room):
    token = prepare()
    rendered = Api(token_for("admin")).post(
        "jobs/shop/orders.daily:render", {"kind": "docker", "scheduled_at": AT, "host": live.url}
    )
    assert rendered.status_code == 200, rendered.content
    (room / "token").write_text(token)
    (room / "run.sh").write_text(rendered.json()["text"])
    for name in ("out", "mounts", "bin"):
        (room / name).mkdir()
    os.chmod(room / "out", 0o777)
    shutil.copy(STAND_IN, room / "bin/docker")
    os.chmod(room / "bin/docker", 0o755)
    environment = {
        "PATH": f"{room}/bin:{PLACES}",
        "TMPDIR": str(room),
        "CONTROLPLANE_TOKEN_FILE": str(room / "token"),
        "STAND_IN_PROGRAMS": f"{BOOT}:/opt",
        "STAND_IN_MOUNTS": str(room / "mounts"),
        "STAND_IN_OUT": str(room / "out"),
    }

    command = ["dash", room / "run.sh"]
    ran = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)

    assert ran.returncode == 0, ran.stderr
    assert (room / "out/plain").read_text() == VALUE
    assert (room / "out/password").read_text() == VALUE
    assert sorted(path.name for path in room.iterdir()) == ["bin", "mounts", "out", "run.sh", "token"]


@as_root
def test_a_pod_that_starts_again_finds_its_run(live, program, volume):
    token = prepare()
    for _ in range(2):
        done = boot(program, live, volume, token, DAG_RUN_ID=NAME_OF_RUN)
        assert done.returncode == 0, done.stderr
    assert JobRun.objects.get().external_id == NAME_OF_RUN


@as_root
def test_a_value_that_is_missing_is_named_and_nothing_is_left(live, program, volume):
    done = boot(program, live, volume, prepare(JOB.replace(".proj.PLAIN", ".proj.LOST")))
    assert done.returncode == 1
    assert "These variables have no value: PLAIN" in done.stderr
    assert list(volume.iterdir()) == []


@as_root
@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({"JOB_NAME": "other"}, "no job 'other'"),
        ({"INSTANCE_NAME": "nobody"}, "The task of the job is bq."),
        ({"CONTROLPLANE_TOKEN_FILE": "/nowhere"}, "cannot be read"),
        ({"PROJECT": ""}, "The variable PROJECT is not set."),
    ],
)
def test_an_error_says_what_to_do(live, program, volume, changed, expected):
    done = boot(program, live, volume, prepare(), **changed)
    assert done.returncode == 1
    assert expected in done.stderr
    assert list(volume.iterdir()) == []


@as_root
def test_a_wrong_token_is_told(live, program, volume):
    prepare()
    done = boot(program, live, volume, "cp_wrong")
    assert "the token is not accepted" in done.stderr
