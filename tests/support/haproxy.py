"""HAProxy before several web servers, as an installation without Kubernetes has it."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from controlplane.local.programs import Program, RunningProgram, free_port, start

# The rules of docs/operations.md.
_RULES = """
defaults
  mode http
  timeout connect 2s
  timeout client 60s
  timeout server 60s
  option redispatch
  retries 3
  retry-on conn-failure empty-response
frontend everybody
  bind 127.0.0.1:{port}
  default_backend web
backend web
  option httpchk GET /readyz
  default-server check inter 500ms fall 1 rise 1
"""


def missing() -> str:
    """Return what is not installed here and must be; empty if nothing is."""
    return "" if shutil.which("haproxy") else "HAProxy is not installed (Debian: haproxy)"


class HAProxy:
    """Sends each request to one of the servers that are ready."""

    def __init__(self, folder: Path, ports: Sequence[int]) -> None:
        self.port = free_port()
        rules = folder / "haproxy.cfg"
        servers = "".join(f"  server web-{port} 127.0.0.1:{port}\n" for port in ports)
        rules.write_text(_RULES.format(port=self.port) + servers)
        command = ("haproxy", "-db", "-f", str(rules))
        self.running: RunningProgram = start(Program("haproxy", command, folder / "haproxy.log"))

    def stop(self) -> None:
        self.running.kill()
