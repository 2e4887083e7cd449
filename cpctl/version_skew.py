"""Whether this cpctl and a server go together: one release apart at most. Pure."""

from __future__ import annotations

import re

_RELEASE = re.compile(r"v?(\d+)\.(\d+)")


def skew(client: str, server: str) -> str:
    """Return a warning if the two are more than one minor release apart; else nothing."""
    ours, theirs = _release(client), _release(server)
    if ours is None or theirs is None or (ours[0] == theirs[0] and abs(ours[1] - theirs[1]) <= 1):
        return ""
    older, newer = ("cpctl", "the server") if ours < theirs else ("the server", "cpctl")
    return (
        f"cpctl {client} and the server {server} are more than one minor release apart: {newer} may use what"
        f" {older} does not know. Install a cpctl of the server's release."
    )


def _release(version: str) -> tuple[int, int] | None:
    match = _RELEASE.match(version)
    return (int(match[1]), int(match[2])) if match else None


def server_version(body: object) -> str:
    """Return the version in an answer of `version`; empty if it has none."""
    if not isinstance(body, dict):
        return ""
    versions = body.get("controlPlaneVersion") or body.get("control_plane_version") or body
    return str(versions.get("Version") or versions.get("version") or "")
