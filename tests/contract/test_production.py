"""What production runs: the commands of docker-compose.yml and the Dockerfile, started by hand.

The image cannot be built here, so the commands run in this environment, with the settings that the
compose file names, against the suite's services.
"""

from __future__ import annotations

import io
import json
import os
import re
import shlex
import signal
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import grpc
import psycopg
import pytest
import yaml
from django.core.management import call_command
from grpc_health.v1.health_pb2 import HealthCheckRequest, HealthCheckResponse
from grpc_health.v1.health_pb2_grpc import HealthStub

from controlplane.local.binaries import nats_server
from controlplane.local.programs import free_port
from controlplane.messaging.nats_questions import server_answers
from controlplane.settings.environment import DECLARED
from tests.support.chart import SECRETS, containers, environment_of
from tests.support.fake_kubernetes import FakeKubernetes
from tests.support.paths import ROOT
from tests.support.waiting import until

HOST = "controlplane.example.com"
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, dict[str, Any]] = COMPOSE["services"]
DOCKERFILE = (ROOT / "Dockerfile").read_text().replace("\\\n", " ")
STAYING = ("web", "flyte-grpc", "worker", "beat", "relay", "plugin-installer")
OURS = ("nats-config", "database-roles", "migrate", *STAYING)
# Not read by our settings modules, but by Django, prometheus-client and OpenTelemetry.
READ_BY_OTHERS = {"DJANGO_SETTINGS_MODULE", "PROMETHEUS_MULTIPROC_DIR", "OTEL_RESOURCE_ATTRIBUTES"}
DATABASE = "production_by_hand"
# The suite's other processes use database 0 of Valkey; our worker must not take their tasks.
VALKEY_DATABASE = "9"
CHECK_AND_COLLECT = """
from django.core.management import execute_from_command_line as run

run(["manage.py", "check", "--deploy", "--fail-level", "WARNING"])
run(["manage.py", "collectstatic", "--no-input"])
"""


def instruction(name: str) -> list[str]:
    return re.findall(rf"^{name} +(.+)$", DOCKERFILE, re.MULTILINE)


def command_of(service: str) -> list[str]:
    """As the image runs it, but with this environment's Python."""
    words = [str(word) for word in SERVICES[service].get("command") or json.loads(instruction("CMD")[-1])]
    return [sys.executable, *words[1:]] if words[0] == "python" else [sys.executable, "-m", *words]


def interpolate(value: str) -> str:
    """What compose makes of `${NAME:-default}` and `${NAME:?message}`."""
    return re.sub(
        r"\$\{(\w+)(?::([-?])([^}]*))?\}",
        lambda groups: groups[3] if groups[2] == "-" else HOST,
        value,
    )


class Process:
    """One process of ours, in a session of its own, with nothing of the suite's environment."""

    def __init__(self, command: list[str], environment: dict[str, str], log: Path) -> None:
        self.log = log
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                cwd=ROOT,
                env={"PATH": os.environ["PATH"], **environment},
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def output(self) -> str:
        return self.log.read_text()

    def stop(self) -> int:
        """Ask it to end; return its exit code.

        Within compose's stop_grace_period of 30 s: a worker that is told to stop while it still starts
        is only ended by the server's own limit of 20 s.
        """
        self.process.send_signal(signal.SIGTERM)
        try:
            return self.process.wait(60)
        finally:
            self.kill()

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def wait_for(self, pattern: str, seconds: float = 60) -> None:
        def is_in_output() -> bool:
            if re.search(pattern, self.output):
                return True
            assert self.process.poll() is None, f"ended ({self.process.returncode}):\n{self.output}"
            return False

        until(is_in_output, seconds, lambda: f"{pattern!r} is not in the output:\n{self.output}")


class ByHand:
    """The services of ours, as compose describes them, on addresses of this machine."""

    def __init__(self, environment: dict[str, str], folder: Path) -> None:
        self.folder = folder
        self.port = free_port()
        self.grpc_port = free_port()
        self.relay_port = free_port()
        self.url = f"http://localhost:{self.port}"
        superuser = environment["DATABASE_URL"].replace("@/controlplane?", f"@/{DATABASE}?")
        self.secrets = {
            "SECRET_KEY": os.urandom(32).hex(),
            "DATABASE_URL": superuser,
            **{
                f"DATABASE_URL_{role}": superuser.replace(
                    "//controlplane@", f"//controlplane_{role.lower()}:{os.urandom(8).hex()}@"
                )
                for role in ("MIGRATOR", "WEB", "WORKER")
            },
            "REDIS_URL": environment["REDIS_URL"].removesuffix("/0") + f"/{VALKEY_DATABASE}",
            "NATS_URL": environment["NATS_URL"],
            "NATS_ISSUER_SEED": os.urandom(32).hex(),
            "SECRET_KEY_FALLBACKS": "",
        }
        for name, value in self.secrets.items():
            (folder / name.lower()).write_text(value)
        self.metrics_ports = {name: free_port() for name in STAYING}

    def environment(self, service: str) -> dict[str, str]:
        environment = {
            name: interpolate(str(value)) for name, value in SERVICES[service]["environment"].items()
        }
        # Each container has a folder of its own there.
        metrics = self.folder / f"metrics-{service}"
        metrics.mkdir(exist_ok=True)
        for name, value in environment.items():
            environment[name] = value.replace("/run/secrets", str(self.folder)).replace(
                "/run/metrics", str(metrics)
            )
            if name == "WORKER_ALIVE_FILE":
                environment[name] = str(self.folder / Path(value).name)
            if name in ("PLUGIN_STORE", "PLUGIN_ROOT"):
                environment[name] = f"{self.folder}{value}"
        if service == "flyte-grpc":
            environment |= {"FLYTE_GRPC_ADDRESS": "127.0.0.1", "FLYTE_GRPC_PORT": str(self.grpc_port)}
        if "METRICS_PORT" in environment:
            environment |= {
                "METRICS_ADDRESS": "127.0.0.1",
                "METRICS_PORT": str(self.metrics_ports[service]),
            }
        if service == "relay":
            environment["RELAY_PORT"] = str(self.relay_port)
        # The image fills this folder while it is built.
        return {**environment, "STATIC_ROOT": str(self.folder / "static")}

    def run(self, *command: str, service: str = "migrate", **more: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=ROOT,
            env={"PATH": os.environ["PATH"], **self.environment(service), **more},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    def start(self, service: str) -> Process:
        return Process(self.words_of(service), self.environment(service), self.folder / f"{service}.log")

    def of_chart(self, case: str, process: str) -> tuple[list[str], dict[str, str]]:
        """Return command and environment of a process as a rendering of the Helm chart describes it."""
        container = containers(case)[process]
        environment = {
            name: value.replace(SECRETS, str(self.folder))
            for name, value in environment_of(container).items()
            if name != "SECRETS_KEY_FILE"
        }
        return [sys.executable, *container["command"][1:]], environment

    def start_of_chart(self, case: str, process: str, **more: str) -> Process:
        """Start a process that compose does not have."""
        command, environment = self.of_chart(case, process)
        return Process(command, {**environment, **more}, self.folder / f"{process}.log")

    def words_of(self, service: str) -> list[str]:
        return [
            {"0.0.0.0": "127.0.0.1", "8000": str(self.port)}.get(word, word)  # our own port, loopback only
            # Only where an option names it: the programs themselves may lie below /tmp, as a clone does.
            .replace("=/tmp/", f"={self.folder}/")
            .replace("=/run/secrets/", f"={self.folder}/")
            for word in command_of(service)
        ]  # fmt: skip


def manage(*arguments: str) -> tuple[str, ...]:
    return (sys.executable, "manage.py", *arguments)


def ask(url: str, **headers: str) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=30) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def wait_for_web(by_hand: ByHand, web: Process, seconds: float = 60) -> None:
    def is_up() -> bool:
        assert web.process.poll() is None, web.output
        try:
            ask(f"{by_hand.url}/livez")
        except OSError:
            return False
        return True

    until(is_up, seconds, lambda: web.output)


@pytest.fixture(scope="module")
def by_hand(services, tmp_path_factory):
    url = services.environment["DATABASE_URL"]
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
        connection.execute(f"CREATE DATABASE {DATABASE}")
    return ByHand(services.environment, tmp_path_factory.mktemp("production"))


@pytest.fixture(scope="module")
def prepared(by_hand):
    """Both commands of manage.py in one process: most of its time is the start."""
    return by_hand.run(sys.executable, "-c", CHECK_AND_COLLECT)


@pytest.fixture(scope="module")
def running(by_hand):
    """Everything, started together as compose does: first the tables, then those that stay."""
    for first in ("database-roles", "migrate"):
        ended = by_hand.run(*by_hand.words_of(first), service=first)
        assert ended.returncode == 0, ended.stdout + ended.stderr
    processes = {name: by_hand.start(name) for name in STAYING}
    yield processes
    for process in processes.values():
        process.kill()


def test_the_compose_file_has_the_engines_and_our_processes():
    images = {name: service["image"] for name, service in SERVICES.items()}

    assert images["postgres"] == "postgres:18"
    assert images["valkey"] == "valkey/valkey:9"
    assert images["nats"].startswith("nats:2")
    assert set(OURS) <= set(SERVICES)
    assert "sync_interval: always" in (ROOT / COMPOSE["configs"]["nats"]["file"]).read_text()


@pytest.mark.parametrize("name", SERVICES)
def test_a_container_can_write_nothing_but_its_volumes_and_has_no_privileges(name):
    service = SERVICES[name]

    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges:true"]
    if name in OURS:
        assert "user" not in service  # the Dockerfile's
        assert any(mount.startswith("/tmp:") for mount in service["tmpfs"])
    elif not name.endswith("-volume"):
        assert service["user"].split(":")[0] not in ("0", "root")


def test_only_the_service_that_creates_the_roles_gets_the_superusers_address():
    holders = [name for name in OURS if "database_url" in SERVICES[name]["secrets"]]
    assert holders == ["database-roles"]

    role_of = {
        "migrate": "migrator", "web": "web", "flyte-grpc": "web", "worker": "worker", "beat": "worker",
        "relay": "worker", "plugin-installer": "worker",
    }  # fmt: skip
    for name, role in role_of.items():
        assert SERVICES[name]["environment"]["DATABASE_URL_FILE"] == f"/run/secrets/database_url_{role}"
        assert f"database_url_{role}" in SERVICES[name]["secrets"]


def test_what_must_be_there_first_is_waited_for():
    for name in STAYING:
        assert SERVICES[name]["depends_on"]["migrate"]["condition"] == "service_completed_successfully"
    for name, service in SERVICES.items():
        for needed, how in service.get("depends_on", {}).items():
            if how["condition"] == "service_healthy":
                assert "healthcheck" in SERVICES[needed], f"{name} waits for {needed}"


def test_the_image_runs_as_an_ordinary_user_and_says_whether_it_lives():
    (user,) = instruction("USER")
    (health,) = instruction("HEALTHCHECK")

    assert user.split(":")[0] not in ("0", "root")
    assert "/livez" in health
    assert "COPY migrations/ migrations/" in DOCKERFILE
    assert "--require-hashes" in DOCKERFILE


def test_the_image_knows_its_commit_and_only_the_last_layers_differ_for_it():
    final = DOCKERFILE.rpartition("\nFROM ")[2]
    before, _, after = final.partition("ARG BUILD_COMMIT=\n")
    assert after.startswith("ENV BUILD_COMMIT=$BUILD_COMMIT\n")
    assert "COPY" in before
    assert not re.search(r"^(COPY|RUN) ", after, re.MULTILINE)
    assert "BUILD_COMMIT" in DECLARED

    for name in OURS:
        build = SERVICES[name]["build"]
        assert build == {"context": ".", "args": {"BUILD_COMMIT": "${BUILD_COMMIT:-}"}}
        # A setting of the process would win over the image.
        assert "BUILD_COMMIT" not in SERVICES[name]["environment"]


def test_every_folder_that_the_image_needs_is_let_through_to_the_build():
    allowed = {line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line[:1] == "!"}
    copied = [shlex.split(words)[:-1] for words in instruction("COPY") if not words.startswith("--from")]

    assert {path.rstrip("/") for words in copied for path in words} == allowed
    assert all((ROOT / path).exists() for path in allowed)


def test_no_secret_lies_in_the_files():
    services = [name for service in SERVICES.values() for name in service.get("environment", {})]
    secret = re.compile(r"PASSWORD|SECRET|TOKEN|_KEY|(?<!PUBLIC)(?<!AGENT)_URL")

    assert [name for name in services if secret.search(name) and not name.endswith("_FILE")] == []
    assert not [words for words in instruction("(?:ENV|ARG)") if secret.search(words)]
    for text in (DOCKERFILE, (ROOT / "docker-compose.yml").read_text()):
        assert not re.search(r"://[^/\s:@]*:[^/\s@$]+@", text)


@pytest.mark.parametrize("name", OURS)
def test_every_variable_of_the_compose_file_is_one_that_is_read(name):
    declared = set(DECLARED) | {f"{setting}_FILE" for setting in DECLARED} | READ_BY_OTHERS

    assert set(SERVICES[name]["environment"]) <= declared


def test_the_secrets_of_the_compose_file_are_all_made_once(tmp_path):
    script = (ROOT / "deploy/compose/make-secrets.sh").read_text()
    (tmp_path / "make-secrets.sh").write_text(script)

    first, second = (
        subprocess.run(["sh", "make-secrets.sh"], cwd=tmp_path, capture_output=True, text=True, check=True)
        for _ in range(2)
    )

    made = {path.name for path in (tmp_path / "secrets").iterdir()}
    assert {Path(secret["file"]).name for secret in COMPOSE["secrets"].values()} <= made
    assert "made secret_key" in first.stdout
    assert second.stdout == ""
    assert (tmp_path / "secrets").stat().st_mode & 0o777 == 0o700


def test_django_finds_nothing_to_warn_of_in_production(prepared):
    assert prepared.returncode == 0, prepared.stderr
    assert "no issues (0 silenced)" in prepared.stdout


def test_the_static_files_can_be_collected_as_the_image_does(by_hand, prepared):
    assert any("manage.py collectstatic --no-input" in words for words in instruction("RUN"))
    assert prepared.returncode == 0, prepared.stderr
    assert (by_hand.folder / "static" / "staticfiles.json").exists()


def test_the_image_holds_the_parsed_document_of_the_api():
    (built,) = [words for words in instruction("RUN") if "manage.py collectstatic" in words]
    assert "/venv/bin/python -m controlplane.api.openapi_file" in built


def test_production_refuses_to_start_without_a_secret_key_and_names_it(by_hand):
    refused = by_hand.run(*manage("check"), SECRET_KEY_FILE="")
    short = by_hand.run(*manage("check"), SECRET_KEY_FILE="", SECRET_KEY="short")

    assert refused.returncode != 0
    assert "SECRET_KEY is required but not set" in refused.stderr
    assert short.returncode != 0
    assert "SECRET_KEY is shorter than 50 characters" in short.stderr


def test_nats_admits_whom_its_configuration_names(by_hand, tmp_path):
    """The files of compose, with a folder and ports of this machine."""
    command = command_of("nats-config")
    assert SERVICES["nats-config"]["volumes"] == ["nats-access:/access"]
    assert "nats-access:/run/access:ro" in SERVICES["nats"]["volumes"]
    access = tmp_path / "access" / "access.json"
    access.parent.mkdir()
    written = by_hand.run(*command[:-1], f"--output={access}", service="nats-config", DCM_AGENTS="true")
    assert written.returncode == 0, written.stderr
    assert access.stat().st_mode & 0o777 == 0o640
    port, config = free_port(), tmp_path / "nats.conf"
    text = (ROOT / COMPOSE["configs"]["nats"]["file"]).read_text()
    for old, new in (("port: 4222", f"port: {port}"), ("/data", str(tmp_path)), (":8222", f":{free_port()}")):
        assert old in text
        text = text.replace(old, new)
    config.write_text(text)
    user = by_hand.secrets["NATS_URL"].partition("://")[2].partition("@")[0]
    server = Process([str(nats_server()), "--config", str(config)], {}, tmp_path / "nats.log")
    try:
        until(lambda: server_answers(f"nats://{user}@127.0.0.1:{port}", timeout=1), 60, lambda: server.output)
        assert not server_answers(f"nats://controlplane:wrong@127.0.0.1:{port}", timeout=20)
    finally:
        server.kill()


@pytest.mark.parametrize("name", [name for name in STAYING if name != "web"])
def test_every_process_but_web_shows_what_it_counts(by_hand, running, name):
    address = f"http://127.0.0.1:{by_hand.metrics_ports[name]}"

    def shown():
        try:
            return ask(f"{address}/metrics")[1]
        except OSError:
            return ""

    until(lambda: "cp_process_start_time_seconds" in shown(), 90, shown)
    assert ask(f"{address}/livez") == (200, "ok\n")
    assert ask(f"{address}/other")[0] == 404


def test_the_worker_shows_that_its_loop_runs(by_hand, running):
    probe = SERVICES["worker"]["healthcheck"]["test"][1].replace("$$", "$")
    assert containers("small")["worker"]["livenessProbe"]["exec"]["command"] == ["sh", "-c", probe]
    assert environment_of(containers("small")["worker"])["WORKER_ALIVE_FILE"] in probe
    here = probe.replace("/tmp", str(by_hand.folder))

    until(lambda: subprocess.run(["sh", "-c", here], capture_output=True, check=False).returncode == 0, 60)


def test_worker_and_beat_start_work_and_stop_when_asked(by_hand, running):
    running["beat"].wait_for("Sending due task mark silent agents unavailable")
    running["worker"].wait_for("ready")
    running["worker"].wait_for("registry.sweep_leases")

    # Celery's handler of the signal closes the file of the schedule, which its loop may be using just then.
    assert running["beat"].stop() == 0 or "closed shelf" in running["beat"].output
    assert running["worker"].stop() == 0
    assert not (by_hand.folder / "worker-alive").exists()


def test_the_installer_shows_that_it_lives_and_stops(by_hand, running):
    running["plugin-installer"].wait_for("installs plugins in")
    alive = by_hand.folder / "plugins/installed/.alive"
    until(alive.exists, 60, lambda: running["plugin-installer"].output)
    assert str(alive).endswith(
        re.search(r"find (\S+)", SERVICES["plugin-installer"]["healthcheck"]["test"][1])[1]
    )
    assert running["plugin-installer"].stop() == 0


def test_the_kubelet_and_helm_find_everything_ready(by_hand, running):
    """The probes of the Helm chart, and its test, against what runs."""
    wait_for_web(by_hand, running["web"])
    web = containers("small")["web"]
    for probe in ("startupProbe", "livenessProbe", "readinessProbe"):
        path = web[probe]["httpGet"]["path"]
        until(lambda path=path: ask(f"{by_hand.url}{path}")[0] == 200, 60, lambda: running["web"].output)
    *words, url = containers("small")["test"]["command"]
    helm_test = by_hand.run(
        sys.executable, *words[1:], f"{by_hand.url}/{url.partition('/readyz')[1][1:]}?verbose"
    )
    assert helm_test.returncode == 0, helm_test.stderr
    assert '"ready": true' in helm_test.stdout

    running["flyte-grpc"].wait_for("Flyte gRPC on 127.0.0.1")
    assert containers("large")["flyte-grpc"]["readinessProbe"]["grpc"] == {"port": 8089}
    with grpc.insecure_channel(f"127.0.0.1:{by_hand.grpc_port}") as channel:
        health = HealthStub(channel).Check(HealthCheckRequest(), timeout=30)
    assert health.status == HealthCheckResponse.SERVING


@pytest.mark.nightly
def test_the_processes_that_only_the_chart_has_start_and_stop(by_hand, running, tmp_path):
    cluster, probes, pools = FakeKubernetes(tmp_path / "kubeconfig"), free_port(), free_port()
    metrics = free_port()
    watcher = by_hand.start_of_chart(
        "watch",
        "agent-config-watcher",
        AGENT_CONFIGS_KUBERNETES_KUBECONFIG=str(cluster.kubeconfig),
        AGENT_CONFIGS_KUBERNETES_PROBE_PORT=str(probes),
    )
    door = by_hand.start_of_chart(
        "redis-door",
        "pools-redis",
        POOLS_REDIS_ADDRESS="127.0.0.1",
        POOLS_REDIS_PORT=str(pools),
        METRICS_ADDRESS="127.0.0.1",
        METRICS_PORT=str(metrics),
    )
    try:
        door.wait_for("Pools for Redis clients on 127.0.0.1")
        socket.create_connection(("127.0.0.1", pools), timeout=10).close()
        assert (
            'cp_process_start_time_seconds{process="pools-redis"}'
            in ask(f"http://127.0.0.1:{metrics}/metrics")[1]
        )
        watcher.wait_for(r"watches \*")
        for probe in ("livenessProbe", "readinessProbe"):
            path = containers("watch")["agent-config-watcher"][probe]["httpGet"]["path"]
            address = f"http://127.0.0.1:{probes}{path}"
            until(lambda address=address: ask(address)[0] == 200, 60, lambda: watcher.output)
        assert (door.stop(), watcher.stop()) == (0, 0)
    finally:
        door.kill()
        watcher.kill()
        cluster.close()


@pytest.mark.nightly
def test_helm_test_compares_the_limits_of_roles_with_the_settings(by_hand, running):
    """As behind PgBouncer: the connection brings no limits, so that those of the role hold."""
    command, environment = by_hand.of_chart("pooler", "test-worker-role")
    (by_hand.folder / "database_direct_url").write_text(by_hand.secrets["DATABASE_URL_WORKER"])

    def check(**more: str) -> subprocess.CompletedProcess[str]:
        return by_hand.run(*command, service="worker", **{**environment, **more})

    same, changed = check(), check(DATABASE_STATEMENT_TIMEOUT_MS="7000")
    assert same.returncode == 0, same.stderr
    assert changed.returncode != 0
    assert "Sessions of controlplane_worker lack limits" in changed.stderr
    assert "statement_timeout is 5000, not 7000" in changed.stderr


def test_the_relay_is_probed_and_stopped(by_hand, running):
    running["relay"].wait_for("Relay runs: events")
    name, *words = SERVICES["relay"]["healthcheck"]["test"][1:]
    port = SERVICES["relay"]["environment"]["RELAY_PORT"]
    probe = [sys.executable, *(word.replace(f":{port}/", f":{by_hand.relay_port}/") for word in words)]

    healthy = by_hand.run(*probe, service="relay")
    assert (name, healthy.returncode) == ("python", 0), healthy.stderr
    assert "cp_outbox_sent_total" in ask(f"http://127.0.0.1:{by_hand.relay_port}/metrics")[1]

    assert running["relay"].stop() == 0
    assert by_hand.run(*probe, service="relay").returncode != 0


def test_the_grpc_port_is_served_probed_and_stopped(by_hand, running):
    running["flyte-grpc"].wait_for("Flyte gRPC on 127.0.0.1")
    probe = SERVICES["flyte-grpc"]["healthcheck"]["test"][1:]

    healthy = by_hand.run(sys.executable, *probe[1:], service="flyte-grpc")
    assert (probe[0], healthy.returncode) == ("python", 0), healthy.stderr
    assert SERVICES["flyte-grpc"]["environment"]["FLYTE_GRPC_ADDRESS"] == "0.0.0.0"

    refused = by_hand.run(
        sys.executable, "manage.py", "flyte_grpc", service="flyte-grpc", BEHIND_TLS_PROXY="false"
    )
    assert "Tokens would be sent unencrypted." in refused.stderr

    assert running["flyte-grpc"].stop() == 0
    dead = by_hand.run(sys.executable, *probe[1:], service="flyte-grpc")
    assert dead.returncode != 0
    assert f"No Flyte gRPC server responds on port {by_hand.grpc_port}." in dead.stderr


# The last of them: a web server that is stopped while one of its workers still starts takes 20 s.
def test_the_web_server_starts_refuses_plain_http_and_stops_when_asked(by_hand, running):
    wait_for_web(by_hand, running["web"])

    assert ask(f"{by_hand.url}/livez") == (200, "ok\n")
    assert json.loads(ask(f"{by_hand.url}/readyz?verbose")[1]) == {
        "ready": True,
        "checks": {
            "postgres": "ok",
            "migrations": "ok",
            "version": "ok",
            "valkey": "ok",
            "nats": "ok",
            "writable": "ok",
            "standby": "ok",
            "timeline": "ok",
            "streams": "ok",
            "partitions": "ok",
            "process": "ok",
        },
    }
    status, body = ask(f"{by_hand.url}/api/v1/me")
    assert (status, json.loads(body)["code"]) == (403, "insecure_transport")
    status, body = ask(f"{by_hand.url}/metrics", Authorization="Bearer cp_pat_x")
    assert (status, json.loads(body)["code"]) == (403, "insecure_transport")
    # Said by the proxy in front, which ended TLS and passed the name on.
    tls = {"X-Forwarded-Proto": "https"}
    status, body = ask(f"{by_hand.url}/api/v1/me", Host=HOST, **tls)
    assert (status, json.loads(body)["code"]) == (401, "not_authenticated")
    status, body = ask(f"{by_hand.url}/metrics", Host=HOST, **tls)
    assert (status, json.loads(body)["code"]) == (401, "not_authenticated")
    status, body = ask(f"{by_hand.url}/api/v1/me", Host="evil.example", **tls)
    assert (status, json.loads(body)["errors"][0]["code"]) == (400, "unknown_host")
    assert running["web"].stop() == 0


def test_the_page_of_settings_is_current():
    page = io.StringIO()

    call_command("settings_reference", stdout=page)

    written = (ROOT / "docs" / "settings.md").read_text()
    assert written == page.getvalue(), "run: manage.py settings_reference > docs/settings.md"
