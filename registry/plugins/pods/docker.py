"""A shell program that runs a job with Docker: the same two containers as in a pod. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from registry.plugins.pods.commands import executor_command
from registry.plugins.pods.containers import executor_variables, init_env
from registry.plugins.pods.profiles import BOOT_GROUP, PodProfile
from registry.plugins.pods.requests import PodRequest, Shape

_TOKEN = "/run/controlplane-token"  # noqa: S105  (a path)
# The folder around the shared one is the caller's alone: other users of the machine reach no file of the job.
_PROGRAM = """\
#!/bin/sh
# Runs {name} with Docker, and ends with the executor's exit code.
# CONTROLPLANE_TOKEN_FILE: a file with a token of the role executor.
set -eu
: "${{CONTROLPLANE_TOKEN_FILE:?Set it to a file with a token of the role executor.}}"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -m 0755 "$folder/job"
{init}
{executor}
"""


def docker_commands(request: PodRequest, profile: PodProfile) -> dict[str, Any]:
    """Return image, environment and command of both containers.

    The shape is always the wrapper: Docker has nothing like fileKeyRef.
    """
    shell = request.executor.entrypoint.shell
    return {
        "init": {
            "image": request.init_image,
            "env": init_env(request, profile),
            "mount": profile.init_mount,
            "command": list(profile.init_command),
        },
        "executor": {
            "image": request.executor.image,
            "env": executor_variables(request, profile),
            "mount": profile.executor_mount,
            "command": executor_command(shell, profile.executor_mount, Shape.WRAPPER),
        },
    }


def docker_program(request: PodRequest, profile: PodProfile) -> str:
    """Return a POSIX shell program that runs both containers one after the other."""
    commands = docker_commands(request, profile)
    init, executor = commands["init"], commands["executor"]
    variables = {**init["env"], "CONTROLPLANE_TOKEN_FILE": _TOKEN}
    # The caller's user owns the shared folder and the token. The group is that of the files with secrets.
    init_options = (
        f'--user "$(id -u):{BOOT_GROUP}" --read-only --cap-drop ALL --security-opt no-new-privileges'
        f' -v "$CONTROLPLANE_TOKEN_FILE:{_TOKEN}:ro" -v "$folder/job:{init["mount"]}"'
    )
    executor_options = f'--group-add {BOOT_GROUP} -v "$folder/job:{executor["mount"]}"'
    return _PROGRAM.format(
        name=shlex.quote(request.name),
        init=_run(init_options, variables, init),
        executor=_run(executor_options, executor["env"], executor),
    )


def _run(options: str, env: Mapping[str, str], container: Mapping[str, Any]) -> str:
    first, *arguments = container["command"]
    lines = [
        f"docker run --rm {options}",
        *(f"-e {shlex.quote(f'{name}={value}')}" for name, value in env.items()),
        f"--entrypoint {shlex.quote(first)} {shlex.quote(container['image'])}",
        *map(shlex.quote, arguments),
    ]
    return " \\\n  ".join(lines)
