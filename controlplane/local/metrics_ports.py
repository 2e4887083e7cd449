"""Where Prometheus finds the metrics of the processes of `make up` that are no web server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path

from controlplane.extras import is_installed
from controlplane.local.data_folder import write_private
from controlplane.local.programs import ReservedPort

# Not the web server, which serves /metrics itself.
_MEASURED = ("worker", "beat", "relay", "plugin-installer")
_FILE = "metrics-targets.json"


def reserve_ports(undo: ExitStack) -> dict[str, int]:
    """Reserve a port for each process until `undo`."""
    names = (*_MEASURED, *(("flyte-grpc",) if is_installed("flyte") else ()))
    ports = {name: ReservedPort() for name in names}
    for port in ports.values():
        undo.callback(port.release)
    return {name: port.number for name, port in ports.items()}


def write_targets(folder: Path, ports: Mapping[str, int], undo: ExitStack) -> None:
    """Write the targets for `file_sd_configs` of Prometheus, until `undo`."""
    targets = [
        {"targets": [f"127.0.0.1:{port}"], "labels": {"process": name}} for name, port in ports.items()
    ]
    file = folder / _FILE
    write_private(file, f"{json.dumps(targets, indent=2)}\n")
    undo.callback(lambda: file.unlink(missing_ok=True))
