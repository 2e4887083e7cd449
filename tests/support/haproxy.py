"""HAProxy before several web servers, as an installation without Kubernetes has it."""

from __future__ import annotations

import re
import shutil
from collections.abc import Sequence
from pathlib import Path

from controlplane.local.programs import Program, RunningProgram, free_port, start
from tests.support.paths import ROOT

_RULES = """
global
  log stdout format raw local0 notice
defaults
  log global
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
frontend everybody
  bind 127.0.0.1:{port}
  default_backend web
{backend}"""
_DOCUMENTED = re.compile(r"```text\n(backend web\n.*?)```", re.DOTALL)


def missing() -> str:
    """Return what is not installed here and must be; empty if nothing is."""
    return "" if shutil.which("haproxy") else "HAProxy is not installed (Debian: haproxy)"


def documented_backend() -> str:
    """Return the rules that docs/operations.md recommends."""
    found = _DOCUMENTED.search((ROOT / "docs/operations.md").read_text())
    assert found, "docs/operations.md has no block `backend web`"
    return found[1]


class HAProxy:
    """Sends each request to one of the servers that are ready."""

    def __init__(self, folder: Path, ports: Sequence[int]) -> None:
        self.port = free_port()
        rules = folder / "haproxy.cfg"
        servers = "".join(f"  server web-{port} 127.0.0.1:{port}\n" for port in ports)
        rules.write_text(_RULES.format(port=self.port, backend=documented_backend()) + servers)
        command = ("haproxy", "-db", "-f", str(rules))
        self.running: RunningProgram = start(Program("haproxy", command, folder / "haproxy.log"))

    def stop(self) -> None:
        self.running.kill()
