"""Postgres as Patroni runs it: etcd, and nodes that can die, freeze and change places as machines do."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import tempfile
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import yaml

from controlplane.local.binaries import postgres_home
from controlplane.local.privileges import UserSwitch, change_owner, choose_user_switch
from controlplane.local.programs import free_port, tail
from tests.support.paths import ROOT
from tests.support.waiting import until

# Made by `make .tools/failover/.installed`, and by `make ha`.
PATRONI = ROOT / ".tools" / "failover" / "bin" / "patroni"
# The recipe of the operators' guide: seconds of a leader's lock, and how often it is renewed.
TTL, LOOP_WAIT, RETRY_TIMEOUT = 20, 5, 5
_POSTGRES = {
    "max_connections": 150,
    "shared_buffers": "32MB",
    "wal_keep_size": "256MB",
    "unix_socket_directories": "",
    "timezone": "UTC",
    "log_timezone": "UTC",
}


def missing() -> str:
    """Return what is not installed here and must be; empty if nothing is."""
    if shutil.which("etcd") is None:
        return "etcd is not installed (Debian: etcd-server)"
    return "" if PATRONI.exists() else "Patroni is not installed: run `make .tools/failover/.installed`"


class Etcd:
    """One server, in which the nodes agree on who leads."""

    def __init__(self, folder: Path) -> None:
        self.port, peers = free_port(), free_port()
        client, peer = f"http://127.0.0.1:{self.port}", f"http://127.0.0.1:{peers}"
        command = ["etcd", "--name", "one", "--data-dir", str(folder / "etcd"), "--log-level", "error"]
        command += ["--listen-client-urls", client, "--advertise-client-urls", client]
        command += ["--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer]
        self.process = _start([*command, "--initial-cluster", f"one={peer}"], folder / "etcd.log")
        until(lambda: _answers(f"{client}/health"), 60, lambda: tail(folder / "etcd.log", 20))


class Node:
    """One machine: a Patroni and its Postgres. All processes of both die or freeze together."""

    def __init__(self, name: str, folder: Path, switch: UserSwitch) -> None:
        self.name, self.port, self._api = name, free_port(), free_port()
        self._folder, self._switch = folder, switch
        self.data, self.log = folder / name, folder / f"{name}.log"
        self.process: subprocess.Popen[bytes] | None = None

    def configure(self, etcd: Etcd, dynamic: dict[str, Any]) -> None:
        """Write the configuration of Patroni. dynamic: what the first node gives to etcd."""
        listen = {"listen": f"127.0.0.1:{self.port}", "connect_address": f"127.0.0.1:{self.port}"}
        trusted = [f"host {database} all 127.0.0.1/32 trust" for database in ("all", "replication")]
        configuration = {
            "scope": "controlplane",
            "name": self.name,
            "restapi": {"listen": f"127.0.0.1:{self._api}", "connect_address": f"127.0.0.1:{self._api}"},
            "etcd3": {"host": f"127.0.0.1:{etcd.port}"},
            "bootstrap": {"dcs": dynamic, "initdb": _INITDB},
            "postgresql": {
                **listen,
                "data_dir": str(self.data),
                "bin_dir": str(postgres_home() / "bin"),
                "pgpass": str(self._folder / f"{self.name}.pgpass"),
                "authentication": {
                    "superuser": {"username": "controlplane"},
                    "replication": {"username": "replicator"},
                },
                "parameters": _POSTGRES,
                "pg_hba": ["local all all trust", *trusted],
            },
        }
        self._configuration.write_text(yaml.safe_dump(configuration))

    def start(self) -> None:
        """Start the machine. One that was the primary before becomes a standby of the new one."""
        command = [*self._switch.prefix, str(PATRONI), str(self._configuration)]
        self.process = _start(command, self.log)

    def kill(self) -> None:
        """End Patroni and Postgres at once, as a machine dies: nothing is flushed, nobody is told."""
        self.signal_all(signal.SIGSTOP)
        self.signal_all(signal.SIGKILL)
        self._reap()

    def kill_patroni(self) -> None:
        """End Patroni alone. Its Postgres goes on and still takes itself for the primary."""
        if self.process is not None:
            self.process.kill()
            self._reap()

    def freeze(self) -> None:
        self.signal_all(signal.SIGSTOP)

    def thaw(self) -> None:
        self.signal_all(signal.SIGCONT)

    def signal_all(self, number: signal.Signals) -> None:
        """Send a signal to all processes, twice: some may just have been forked."""
        for _ in range(2):
            for process in _family(self._roots()):
                try:
                    os.kill(process, number)
                except ProcessLookupError:
                    continue

    def state(self, path: str, body: dict[str, str] | None = None, timeout: float = 2) -> tuple[int, str]:
        """Ask Patroni's REST API; return status and body, and 0 if it does not answer."""
        data = None if body is None else json.dumps(body).encode()
        try:
            address = f"http://127.0.0.1:{self._api}/{path}"
            with urllib.request.urlopen(urllib.request.Request(address, data), timeout=timeout) as answer:
                return int(answer.status), answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return 0, ""

    @property
    def _configuration(self) -> Path:
        return self._folder / f"{self.name}.yml"

    def _roots(self) -> set[int]:
        roots = {self.process.pid} if self.process is not None and self.process.poll() is None else set()
        try:
            postmaster = int((self.data / "postmaster.pid").read_text().split("\n", 1)[0])
            # The file of one that was killed stays, and its number may belong to somebody else by now.
            words = Path(f"/proc/{postmaster}/cmdline").read_bytes()
        except (OSError, ValueError):
            return roots
        return roots | ({postmaster} if str(self.data).encode() in words else set())

    def _reap(self) -> None:
        if self.process is not None:
            self.process.wait(20)
            self.process = None


class PatroniCluster:
    """The nodes, from their start to `stop`. strict: commits wait for a standby even if there is none."""

    def __init__(self, folder: Path, nodes: int = 2, *, strict: bool = False) -> None:
        self._folder = folder
        switch = choose_user_switch(postgres_home() / "bin" / "initdb", folder)
        change_owner(folder, switch.owner)
        self.nodes = [Node(f"node{number}", folder, switch) for number in range(nodes)]
        self._etcd = Etcd(folder)
        try:
            for node in self.nodes:
                node.configure(self._etcd, _dynamic(strict=strict))
                node.start()
                if node is self.nodes[0]:
                    until(self.primary, 60, lambda: tail(self.nodes[0].log, 30), pause=0.2)
            self.wait_until_complete()
        except BaseException:
            self.stop()
            raise

    @property
    def url(self) -> str:
        """The database `controlplane` at all hosts, for its owner."""
        return self.url_of("controlplane")

    def url_of(self, database: str) -> str:
        hosts = ",".join(f"127.0.0.1:{node.port}" for node in self.nodes)
        return f"postgresql://controlplane@{hosts}/{database}?target_session_attrs=read-write"

    def primary(self) -> Node | None:
        """Return the node that has the leader's lock, if it answers."""
        return next((node for node in self.nodes if node.state("primary")[0] == 200), None)

    def wait_until_complete(self, seconds: float = 90) -> None:
        """Wait until there is a primary, and all others stream from it, one of them synchronously."""
        until(self.is_complete, seconds, self.members, pause=0.2)

    def is_complete(self) -> bool:
        states = [(member["role"], member["state"]) for member in self.members()]
        standbys = [role for role, state in states if state == "streaming"]
        leaders = [role for role, state in states if (role, state) == ("leader", "running")]
        return len(leaders) == 1 and len(standbys) == len(self.nodes) - 1 and "sync_standby" in standbys

    def members(self) -> list[dict[str, Any]]:
        """Return the nodes as Patroni sees them."""
        for node in self.nodes:
            status, body = node.state("cluster")
            if status == 200:
                members: list[dict[str, Any]] = json.loads(body)["members"]
                return members
        return []

    def switch_over(self) -> Node:
        """Make the synchronous standby the primary, as planned maintenance does; return it."""
        roles = {member["name"]: member["role"] for member in self.members()}
        leader = next(node for node in self.nodes if roles[node.name] == "leader")
        candidate = next(node for node in self.nodes if roles[node.name] == "sync_standby")
        body = {"leader": leader.name, "candidate": candidate.name}
        status, text = leader.state("switchover", body, timeout=60)
        assert status == 200, text
        return candidate

    def stop(self) -> None:
        """End everything. What is frozen dies too."""
        for node in self.nodes:
            node.kill()
        self._etcd.process.kill()
        self._etcd.process.wait(20)


def create_database(cluster: PatroniCluster) -> None:
    """Create the empty database `controlplane`."""
    with psycopg.connect(cluster.url_of("postgres"), autocommit=True) as administrator:
        administrator.execute("CREATE DATABASE controlplane")


@contextmanager
def short_folder() -> Iterator[Path]:
    """Have a folder that other users may enter. KEEP=1 in the environment keeps it."""
    folder = Path(tempfile.mkdtemp(prefix="cp-patroni-"))
    folder.chmod(0o755)
    try:
        yield folder
    finally:
        if "KEEP" not in os.environ:
            shutil.rmtree(folder, ignore_errors=True)


_INITDB: list[Any] = [
    {"locale-provider": "builtin"},
    {"builtin-locale": "C.UTF-8"},
    {"locale": "C"},
    {"encoding": "UTF8"},
    "data-checksums",
]


def _dynamic(*, strict: bool) -> dict[str, Any]:
    return {
        "ttl": TTL,
        "loop_wait": LOOP_WAIT,
        "retry_timeout": RETRY_TIMEOUT,
        "maximum_lag_on_failover": 1_048_576,
        "synchronous_mode": True,
        "synchronous_mode_strict": strict,
        "postgresql": {"use_pg_rewind": True, "parameters": {**_POSTGRES, "wal_log_hints": "on"}},
    }


def _start(command: list[str], log: Path) -> subprocess.Popen[bytes]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("PG", "LC_", "LANG"))}
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env={**clean, "LC_ALL": "C", "TZ": "UTC", "PATRONI_LOG_LEVEL": "INFO"},
            start_new_session=True,
        )


def _family(roots: set[int]) -> set[int]:
    """Return processes with all their descendants. Postgres' own have sessions, and groups, of their own."""
    parents = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            # The name of the program, in parentheses, may contain anything.
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
        except (OSError, ValueError):
            continue
    family = set(roots)
    while more := {child for child, parent in parents.items() if parent in family} - family:
        family |= more
    return family


def _answers(url: str) -> bool:
    try:
        urllib.request.urlopen(url, timeout=2).close()
    except OSError:
        return False
    return True
