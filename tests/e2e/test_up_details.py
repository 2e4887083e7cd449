"""`manage.py up`: output, secrets and restarts of its programs. Start, crash and stop are in test_up.py.

Every command of the README and the guides shows what it promises, page after page.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import stat
import subprocess
import sys
import urllib.request
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from controlplane.local.data_folder import read_environment
from controlplane.local.services import worker_answers
from tests.support.launcher import ROOT, Up
from tests.support.waiting import until

READY = "Ctrl-C stops everything."
HANG_SECONDS = 5
BLOCK = re.compile(r"```sh\n(.*?)```\n((?:<!-- shows: .*? -->\n?)*)", re.DOTALL)
PAGES = [
    "README.md",
    "docs/guides/overrides.md",
    "docs/guides/watching-values.md",
    "docs/guides/freezes.md",
    "docs/guides/scheduled-changes.md",
    "docs/guides/change-requests.md",
    "docs/tutorials/flytectl-to-git.md",
    "docs/guides/flyte.md",
    "docs/guides/flyte-events.md",
    "docs/guides/agents.md",
    "docs/guides/gateways.md",
    "docs/guides/resources.md",
    "docs/guides/webhooks.md",
    "docs/guides/pools.md",
    "docs/guides/cpctl.md",
    "docs/guides/teams-and-roles.md",
    "docs/guides/agent-configurations.md",
    "docs/concepts/scope-ladder.md",
    "docs/concepts/lease-and-guard.md",
    "docs/concepts/bundle-and-acknowledgement.md",
    "docs/api-conventions.md",
    "docs/guides/flyte-configuration.md",
    "docs/tour.md",
]
SHOWS = re.compile(r"<!-- shows: (.*?) -->")


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Up]:
    """One installation for all tests: who has followed one page can follow the next."""
    environment = {
        "WEB_HANG_SECONDS": str(HANG_SECONDS),
        "FLYTE_EVENTS": "store",
        "WEBHOOK_ALLOW_HTTP": "true",
        "OUTGOING_ALLOWED_NETWORKS": "127.0.0.0/8",
    }
    running = Up(tmp_path_factory.mktemp("up") / ".data", **environment)
    try:
        running.wait_for(READY, seconds=120)
        installed(running.data_dir.parent)
        yield running
    finally:
        running.stop(signal.SIGTERM)


def installed(folder: Path) -> None:
    """Put cpctl into its folder `bin`, as pipx would, and the examples where a checkout has them."""
    (folder / "examples").symlink_to(ROOT / "examples")
    program = folder / "bin" / "cpctl"
    program.parent.mkdir()
    command = f"PYTHONPATH={shlex.quote(str(ROOT))} {shlex.quote(sys.executable)}"
    program.write_text(f'#!/bin/sh\n{command} -m cpctl "$@"\n')
    program.chmod(0o755)


def environment_of(up: Up) -> dict[str, str]:
    return read_environment(up.data_dir / "run" / "environment")


def leader(up: Up, words: str) -> int:
    """The one process with these words on its command line that leads a session."""
    (child,) = [pid for pid, line in up.children().items() if words in line and os.getsid(pid) == pid]
    return child


def healthy(up: Up) -> bool:
    """Every dependency answers the web server, and the worker takes orders."""
    try:
        with urllib.request.urlopen(f"{up.url}/readyz?verbose", timeout=30) as answer:
            checks = json.load(answer)["checks"]
    except OSError:
        return False
    worker = f"up-{up.port}@{up.process.pid}"
    return set(checks.values()) == {"ok"} and worker_answers(environment_of(up)["REDIS_URL"], worker)


def test_the_three_commands_that_it_prints_work(up: Up) -> None:
    commands = re.findall(r"^  ((?:export|curl) .*)$", up.output, re.MULTILINE)
    script = "\n".join(f"{command}; echo" for command in commands)

    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, check=True)

    _, me, effective = done.stdout.splitlines()
    assert json.loads(me)["name"] == "admin"
    assert "attributes" in effective
    assert "status" not in json.loads(effective)


@pytest.mark.parametrize("name", ["", "run", "logs", "postgres", "valkey", "nats"])
def test_its_folders_are_closed_to_others(up: Up, name: str) -> None:
    assert stat.S_IMODE((up.data_dir / name).stat().st_mode) == 0o700


def test_its_figures_are_closed_to_others_and_not_on_the_disk_of_the_data(up: Up) -> None:
    metrics = Path(up.environment_of("-A controlplane worker")["PROMETHEUS_MULTIPROC_DIR"])

    assert {stat.S_IMODE(folder.stat().st_mode) for folder in (metrics, metrics.parent)} == {0o700}
    assert metrics.stat().st_dev != up.data_dir.stat().st_dev
    assert list(metrics.glob("*.db"))


def test_every_process_prints_its_stacks_on_a_signal_and_goes_on(up: Up) -> None:
    programs = {pid: Path(line.split()[0]).name for pid, line in up.children().items()}
    own = [
        pid
        for pid, program in programs.items()
        if program.startswith("python") and parent_of(pid) == up.process.pid
    ]
    assert len(own) >= 6

    for pid in own:
        os.kill(pid, signal.SIGUSR1)

    until(
        lambda: stacks(up) >= len(own), 60, lambda: f"{stacks(up)} of {len(own)} have printed their stacks."
    )
    assert [pid for pid in own if parent_of(pid) != up.process.pid] == []


def parent_of(pid: int) -> int:
    """Return the parent of a process; 0 if it has ended."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0


def group_of(pid: int) -> int:
    """Return the group of a process; 0 if it has ended, as connections of Postgres do at any time."""
    try:
        return os.getpgid(pid)
    except ProcessLookupError:
        return 0


def stacks(up: Up) -> int:
    """Return in how many logs there are stacks."""
    return sum("most recent call first" in log.read_text() for log in (up.data_dir / "logs").glob("*.log"))


def test_prometheus_finds_the_figures_of_every_process(up: Up) -> None:
    targets = json.loads((up.data_dir / "metrics-targets.json").read_text())
    by_process = {target["labels"]["process"]: target["targets"] for target in targets}
    assert set(by_process) == {"worker", "beat", "relay", "plugin-installer", "flyte-grpc"}

    texts: dict[str, str] = {}
    for name, (address,) in by_process.items():
        # Some still start when the others are ready. The worker's tasks are counted in its children.
        expected = (
            'cp_task_total{result="success",task="registry.sweep_leases"}' if name == "worker" else "# TYPE"
        )
        until(lambda a=address, e=expected: e in metrics_of(a), 60, lambda n=name: f"{n} shows nothing")
        texts[name] = metrics_of(address)
    assert "cp_outbox_sent_total" in texts["relay"]
    # Figures of the database are the web server's alone.
    assert not any("cp_agents{" in text for text in texts.values())


def metrics_of(address: str) -> str:
    """Return the text; a word that no test expects while nobody listens."""
    try:
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=5) as answer:  # loopback
            return answer.read().decode()
    except OSError:
        return "down"


def test_no_secret_is_in_a_command_line(up: Up) -> None:
    environment = environment_of(up)
    secrets = [
        environment["SECRET_KEY"],
        *re.findall(r":(\w{20,})@", environment["REDIS_URL"] + environment["NATS_URL"]),
    ]

    lines = " ".join(up.children().values())

    assert len(secrets) == 3
    assert "valkey-server" in lines
    assert [secret for secret in secrets if secret in lines] == []


def test_a_signal_of_the_terminal_reaches_only_the_supervisor(up: Up) -> None:
    ours = os.getpgid(up.process.pid)

    assert [line for pid, line in up.children().items() if group_of(pid) == ours] == []


def test_manage_py_in_another_window_meets_the_same_services(up: Up) -> None:
    names = ("DATABASE_URL", "REDIS_URL", "NATS_URL", "DJANGO_SETTINGS_MODULE", "SECRET_KEY")
    clean = {name: value for name, value in os.environ.items() if name not in names}
    command = [sys.executable, "manage.py", "showmigrations", "access"]

    done = subprocess.run(
        command,
        cwd=ROOT,
        env={**clean, "DATA_DIR": str(up.data_dir)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert "[X] 0001_initial" in done.stdout


def test_a_start_on_another_folder_does_not_borrow_the_services_of_a_running_one(
    up: Up, tmp_path_factory: pytest.TempPathFactory
) -> None:
    # settings/dev.py has read the first one's notes when the second looks at its environment.
    second = Up(tmp_path_factory.mktemp("second") / "data", "--no-demo", DATA_DIR=str(up.data_dir))
    second.wait_for("Starting postgres, valkey, nats ...")

    second.stop(signal.SIGTERM)

    assert "Using the external service" not in second.output


def test_the_demo_has_something_to_show_on_every_page(up: Up) -> None:
    """Made by requests of its process, which begin when the web server is ready."""
    record = up.data_dir / "demo.loaded"
    until(lambda: "plugins" in json.loads(record.read_text())["chapters"], 120, record.read_text)
    log = up.data_dir / "logs" / "demo.log"
    assert "ends early" not in log.read_text()

    names = {agent["name"] for agent in _items(up, "agents?limit=200")}
    assert len(names) == 60
    agents = _counts(up, "agents?limit=200", "health_status")
    assert (agents["draining"], agents["retired"]) == (1, 1)
    assert {version["changed_by"] for version in _items(up, _VERSIONS)} == {"ana", "ben"}
    assert [freeze["state"] for freeze in _items(up, "override-freezes")] == ["upcoming"]
    assert _counts(up, "override-changes", "state") == {"applied": 1, "scheduled": 1}
    assert [rail["name"] for rail in _items(up, "guard-rails")] == ["production-cpu-ceiling"]
    assert _counts(up, "agent-config-conflicts", "team") == {"commerce": 2}
    assert _counts(up, "data-planes", "ack_state") == {"APPLIED": 2}
    assert {pool["name"]: pool["waiting"] for pool in _items(up, "pools")}["gpu-a100"] == 3
    assert _counts(up, "plugin-releases", "state") == {"active": 1, "superseded": 1}
    assert len(_items(up, "dead-letters")) == 1
    assert [token["name"] for token in _items(up, "join-tokens")] == ["shop kiosks"]
    states = {"running": 3, "failed": 1, "provisioning": 1, "pending": 1, "deleted": 1}
    until(lambda: _counts(up, "resources?show_deleted=true", "state") == states, 60)
    until(lambda: _counts(up, "alerts", "title").get("resource failed: risk-archive"), 60)
    # No secret of the people of the story is left.
    assert {token["principal"] for token in _items(up, "tokens?limit=200") if "principal" in token} <= {
        "admin"
    }


_VERSIONS = "overrides/task_resource/versions?project=storefront"


def _items(up: Up, path: str) -> list[dict[str, Any]]:
    token = (up.data_dir / "admin.token").read_text().strip()
    request = urllib.request.Request(f"{up.url}/api/v1/{path}", headers={"Authorization": f"Bearer {token}"})
    with urllib.request.urlopen(request, timeout=30) as answer:
        return json.load(answer)["items"]


def _counts(up: Up, path: str, field: str) -> Counter[str]:
    return Counter(item[field] for item in _items(up, path))


def test_the_demos_receiver_is_the_only_address_of_this_machine_that_it_allows(up: Up) -> None:
    port = json.loads((up.data_dir / "demo.loaded").read_text())["receiver_port"]

    assert up.environment_of("controlplane.serving")["DEMO_RECEIVER"] == f"127.0.0.1:{port}"
    (archive,) = [sink for sink in _items(up, "sinks") if sink["name"] == "audit-archive"]
    until(lambda: _counts(up, f"sinks/{archive['id']}/deliveries", "state")["delivered"] > 10, 60)


# A publication that meets the reconcile of beat is served by the next recompute: ask again, as people would.
PUBLISHED = """
published() {
  local version=()
  for attempt in $(seq 20); do
    answer=$(cpapi -X PUT "$@" "${version[@]}")
    [[ $answer == *'"data_planes":[]'* ]] || break
    # It exists by now.
    version=(-H "If-Match: *")
    sleep 0.5
  done
  printf '%s\\n' "$answer"
}
"""


@pytest.mark.parametrize("page", PAGES)
def test_the_commands_of_a_page_do_what_it_says(up: Up, page: str) -> None:
    folder, record = up.data_dir.parent, up.data_dir / "demo.loaded"
    # The pages tell of the demo's objects, which come after the start.
    until(lambda: record.exists() and "plugins" in json.loads(record.read_text())["chapters"], 120)
    blocks = BLOCK.findall((ROOT / page).read_text())
    assert len(blocks) >= 5
    script = f"set -euo pipefail\n{PUBLISHED}"
    for number, (commands, _) in enumerate(blocks):
        patient = commands.replace("cpapi -X PUT $CP/agent-configs/", "published $CP/agent-configs/")
        script += patient.replace("localhost:8000", f"localhost:{up.port}")
        script += f"\necho; echo '== end of {number}'\n"

    ran = subprocess.run(
        ["bash", "-c", script],
        cwd=folder,
        env={**os.environ, "HOME": str(folder), "PATH": f"{folder / 'bin'}:{os.environ['PATH']}"},
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )

    assert ran.returncode == 0, f"{ran.stderr}{ran.stdout[-2000:]}"
    parts = re.split(r"== end of \d+\n", ran.stdout)
    for (commands, marks), output in zip(blocks, parts, strict=False):
        for mark in SHOWS.findall(marks):
            assert mark in output, f"{commands}\nshowed:\n{output}"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("web", "controlplane.serving"),
        ("worker", "-A controlplane worker"),
        ("beat", "-A controlplane beat"),
        ("relay", "manage.py relay"),
        ("postgres", "/postgres -D"),
        ("valkey", "/valkey-server"),
        ("nats", "/nats-server"),
    ],
)
def test_whoever_is_killed_comes_back_and_everybody_finds_it_again(up: Up, name: str, words: str) -> None:
    before = environment_of(up)
    os.kill(leader(up, words), signal.SIGKILL)

    up.wait_for(f"{name} exited with code -9. Restart in ", 10)

    assert f"Log: {up.data_dir}/logs/{name}.log" in up.output
    until(lambda: any(words in line for line in up.children().values()))
    until(lambda: healthy(up))
    assert environment_of(up) == before


def test_a_web_worker_that_hangs_is_replaced(up: Up) -> None:
    """The nightly lane `hanging` hangs all of the web server, and looks after the others."""
    main = leader(up, "controlplane.serving")
    victim = max(
        pid for pid, words in up.children().items() if "controlplane.serving" in words and pid != main
    )
    os.kill(victim, signal.SIGSTOP)

    log = up.data_dir / "logs" / "web.log"
    line = f"Web worker {victim} did not respond for {HANG_SECONDS} s and was stopped."
    until(lambda: line in log.read_text(), 60, log.read_text)

    until(lambda: victim not in up.children())
    until(lambda: healthy(up))
