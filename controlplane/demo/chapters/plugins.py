"""Two releases of the platform's plugins from archives in a folder, and a job that uses one."""

from __future__ import annotations

import gzip
import hashlib
import io
import tarfile
import time
from pathlib import Path

from controlplane.demo.cast import PLATFORM, RISK, Cast

_PLUGINS = ("sql2table", "mailer")
_SPEC = """name: {name}
plugintype: task
pluginversion: {version}
image: ${{config.executor_image}}
entrypoint:
  script: python3 /opt/main.py
"""
_CONFIG = """plugins:
  providers:
  - type: file
    name: demo
    root: {root}
  plugins:
"""
_ENTRY = """  - provider: demo
    output: {name}
    path: {name}-{version}.tar.gz
    version: {version}
    checksum: {checksum}
    config:
      executor_image: registry.example.com/executors/{name}:{version}
"""
_JOB = """version: 2
name: demand.daily
owner: risk
schedule: {start_date: "2026-11-01", interval: "0 2 * * *"}
task:
  name: sql2table
  config:
    TABLE: "{{.proj.DATASET}}.demand"
  window: {size: 24h, offset: "0", truncate_to: d}
hooks:
- {name: mailer, config: {SUBJECT: "Demand is in {{.task.TABLE}}"}}
"""
_PATIENCE_SECONDS = 20.0


def tell(cast: Cast) -> None:
    folder = cast.folder / "plugins"
    folder.mkdir(parents=True, exist_ok=True)
    for versions in (("1.4.0", "2.0.1"), ("1.4.1", "2.0.1")):
        _release(cast, folder, dict(zip(_PLUGINS, versions, strict=True)))
    cast.act(RISK, "PUT", "job-variables/forecasting", {"variables": {"DATASET": "sales"}})
    query = "select * from orders where day >= '{{.DSTART}}'\n"
    cast.act(RISK, "PUT", "jobs/forecasting/demand.daily", {"text": _JOB, "assets": {"query.sql": query}})
    scheduled_at = cast.now.replace(hour=2, minute=0, second=0, microsecond=0).isoformat()
    cast.act(RISK, "POST", "jobs/forecasting/demand.daily/runs", {"scheduled_at": scheduled_at})


def _release(cast: Cast, folder: Path, versions: dict[str, str]) -> None:
    text = _CONFIG.format(root=folder)
    for name, version in versions.items():
        checksum = _pack(folder / f"{name}-{version}.tar.gz", _SPEC.format(name=name, version=version))
        text += _ENTRY.format(name=name, version=version, checksum=checksum)
    current = _current(cast)
    headers = {"If_Match": f'"v{current}"'} if current else {"If_None_Match": "*"}
    message = f"sql2table {versions['sql2table']}"
    cast.act(PLATFORM, "PUT", "plugin-config", {"text": text, "message": message}, **headers)
    made = cast.act(PLATFORM, "POST", "plugin-releases", {"message": message})
    until = time.monotonic() + _PATIENCE_SECONDS
    while made and time.monotonic() < until:
        if cast.act(PLATFORM, "GET", f"plugin-releases/{made['id']}")["state"] == "active":
            return
        time.sleep(0.5)


def _current(cast: Cast) -> int:
    versions = cast.act(PLATFORM, "GET", "plugin-config/versions")["items"]
    return max((version["version"] for version in versions), default=0)


def _pack(path: Path, spec: str) -> str:
    """Write an archive and return its checksum, the same each time."""
    content = spec.encode()
    member = tarfile.TarInfo(f"optimus-plugin-{path.name.partition('-')[0]}.yaml")
    member.size = len(content)
    packed = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream,
        tarfile.open(fileobj=stream, mode="w") as tar,
    ):
        tar.addfile(member, io.BytesIO(content))
    path.write_bytes(packed.getvalue())
    return f"sha256:{hashlib.sha256(packed.getvalue()).hexdigest()}"
