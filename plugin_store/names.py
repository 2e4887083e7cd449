"""Names of plugins, and versions as parts of paths. Pure."""

from __future__ import annotations

import re

from plugin_store.errors import InvalidName

_NAME = re.compile(r"[a-z0-9](?:(?:[a-z0-9_-]|\.(?!\.)){0,61}[a-z0-9])?")
_SHA256 = re.compile(r"[0-9a-f]{64}")
_FOLDER = re.compile(r"(?P<name>[^/]+)/[A-Za-z0-9][A-Za-z0-9._-]{0,63}-[0-9a-f]{12}(?:-r[1-9][0-9]{0,3})?")
_LONGEST_VERSION = 64


def check_plugin_name(name: str) -> str:
    """Return the name of a plugin, or raise InvalidName."""
    if _NAME.fullmatch(name):
        return name
    raise InvalidName(
        f"Invalid plugin name {name[:80]!r}.",
        why="A name has 1 to 63 lower-case letters, digits, '-', '_' and single dots.",
        advice="Begin and end it with a letter or a digit.",
    )


def check_sha256(digest: str) -> str:
    """Return a SHA-256 in lower-case hexadecimal digits, or raise InvalidName."""
    if _SHA256.fullmatch(digest):
        return digest
    raise InvalidName(
        f"Invalid SHA-256 {digest[:80]!r}.",
        why="It has 64 lower-case hexadecimal digits.",
        advice="Compute it with sha256sum.",
    )


def version_of(version: str | None, sha256: str) -> str:
    """The version; where a plugin has none, one that its digest makes unique."""
    return version or f"0+{sha256[:12]}"


def version_in_path(version: str) -> str:
    """A version as part of a path. The digest beside it distinguishes versions that look alike here."""
    safe = re.sub(r"\.{2,}", ".", re.sub(r"[^A-Za-z0-9._-]", "-", version))
    return safe[:_LONGEST_VERSION].strip("-._") or "0"


def folder_of(name: str, version: str | None, sha256: str, *, repair: int = 0) -> str:
    """The folder of an archive below `store/`: the same archive always has the same folder.

    `repair` counts on where the folder exists already and cannot be used.
    """
    check_plugin_name(name)
    check_sha256(sha256)
    suffix = f"-r{repair}" if repair else ""
    return f"{name}/{version_in_path(version_of(version, sha256))}-{sha256[:12]}{suffix}"


def check_folder(folder: str) -> str:
    """Return a folder below `store/` as `folder_of` writes it, or raise InvalidName."""
    match = _FOLDER.fullmatch(folder)
    if match and ".." not in folder and _NAME.fullmatch(match["name"]):
        return folder
    raise InvalidName(
        f"Invalid folder {folder[:120]!r} of a plugin.",
        why="It is not NAME/VERSION-DIGEST, as the store writes it.",
        advice="Do not edit the manifest; restore it, or install again in an empty folder.",
    )
