"""Commands of executors: load the environment and the secrets, then run the plugin's script. Pure."""

from __future__ import annotations

import shlex

from registry.plugins.pods.requests import Shape

# Files of the boot bundle, below the mount path of its volume.
ENV_FILE = "in/env"
SECRET_FILE = "in/secret"  # noqa: S105  (a path)
ENTRYPOINT_FILE = "in/entrypoint"


def executor_command(shell: str, mount: str, shape: Shape) -> list[str]:
    """Return the container's command.

    `.` is in every POSIX shell, `source` is not. `set -e` stops at a missing file before the job begins. The
    script is a file of the bundle and not an argument, so that its newlines and here-documents survive.
    `exec` lets the script receive signals.
    """
    files = [SECRET_FILE] if shape is Shape.FILE_KEY_REF else [ENV_FILE, SECRET_FILE]
    loads = "; ".join(f". {shlex.quote(f'{mount}/{file}')}" for file in files)
    script = shlex.quote(f"{mount}/{ENTRYPOINT_FILE}")
    return [shell, "-c", f"set -e; set -a; {loads}; set +a; exec {shlex.quote(shell)} {script}"]
