"""The boot bundle: the files that the init container writes below `in/`, as a tar archive. Pure."""

from __future__ import annotations

import io
import json
import tarfile
from collections.abc import Mapping
from dataclasses import dataclass

from registry.jobs.run_input import RunInput

# All containers of a pod share one group, so that an executor of any user reads what nobody else may.
GROUP = 10001
_FOR_ALL, _FOR_GROUP, _PROGRAM = 0o444, 0o440, 0o555


@dataclass(frozen=True, slots=True)
class BundleFile:
    """A file below `in/`."""

    name: str
    content: bytes
    mode: int


def bundle_files(run_input: RunInput, script: str) -> tuple[BundleFile, ...]:
    """Return the files of a run: settings, secrets, the plugin's script, and those of the job, by name."""
    envs = dict(run_input.envs)
    own = (
        BundleFile("env", shell_assignments(envs).encode(), _FOR_ALL),
        BundleFile("env.json", json.dumps(envs, sort_keys=True, ensure_ascii=False).encode(), _FOR_ALL),
        BundleFile("secret", shell_assignments(run_input.secrets).encode(), _FOR_GROUP),
        BundleFile("entrypoint", f"{script.rstrip()}\n".encode(), _PROGRAM),
    )
    of_job = (
        BundleFile(name, file.text.encode(), _FOR_GROUP if file.is_sensitive else _FOR_ALL)
        for name, file in run_input.files.items()
    )
    return tuple(sorted((*own, *of_job), key=lambda file: file.name))


def shell_assignments(values: Mapping[str, str]) -> str:
    """Return lines `NAME='value'` for any POSIX shell. Every character but NUL survives."""
    return "".join(f"{name}={quote(value)}\n" for name, value in sorted(values.items()))


def quote(value: str) -> str:
    """Return the value in single quotes, in which a shell reads nothing but the end of the quotes."""
    return "'" + value.replace("'", "'\\''") + "'"


def write_tar(files: tuple[BundleFile, ...]) -> bytes:
    """Return the bundle as a tar archive: the same files always give the same bytes."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for folder in _folders(files):
            member = tarfile.TarInfo(f"in/{folder}" if folder else "in")
            member.type, member.mode, member.gid = tarfile.DIRTYPE, 0o755, GROUP
            archive.addfile(member)
        for file in files:
            member = tarfile.TarInfo(f"in/{file.name}")
            member.size, member.mode, member.gid = len(file.content), file.mode, GROUP
            archive.addfile(member, io.BytesIO(file.content))
    return buffer.getvalue()


def _folders(files: tuple[BundleFile, ...]) -> list[str]:
    parents = {""}
    for file in files:
        parts = file.name.split("/")[:-1]
        parents |= {"/".join(parts[:depth]) for depth in range(1, len(parts) + 1)}
    return sorted(parents)
