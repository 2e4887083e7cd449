"""Profiles of pods: names of containers, volumes and mount paths. Pure."""

from __future__ import annotations

from dataclasses import dataclass

# Of a user that no image has. The group can read the boot bundle, and all containers share it.
BOOT_USER = 10001
BOOT_GROUP = 10001


@dataclass(frozen=True, slots=True)
class PodProfile:
    """Names and paths of a pod. init_mount, executor_mount: of the one shared volume in each container.

    executor_container: empty for the name of the task.
    """

    name: str
    volume: str
    init_container: str
    executor_container: str
    init_mount: str
    executor_mount: str
    init_command: tuple[str, ...] = ("/opt/entrypoint_init_container.sh",)


OPTIMUS = PodProfile(
    name="optimus",
    volume="asset-volume",
    init_container="init-container",
    executor_container="base",
    init_mount="/data",
    executor_mount="/data",
)
# Names and paths of the RFC's sample pod, with its spelling of "asserts".
RFC = PodProfile(
    name="rfc",
    volume="assets-dir",
    init_container="init-executor",
    executor_container="",
    init_mount="/usr/share/asserts",
    executor_mount="/var/assets",
)
PROFILES = {profile.name: profile for profile in (OPTIMUS, RFC)}
