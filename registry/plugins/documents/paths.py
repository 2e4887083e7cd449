"""Relative paths of artifacts and assets that cannot leave their folder. Pure."""

from __future__ import annotations

import re
from urllib.parse import unquote

from registry.plugins.documents.diagnostics import Code, Findings, Node
from registry.plugins.documents.fields import read_text

SUFFIXES = (".tar.gz", ".tgz", ".zip", ".yaml")
_DRIVE = re.compile(r"[A-Za-z]:")
_MAX_DECODINGS = 5


def find_path_problem(path: str) -> str:
    """Return why the path is not a safe relative path, or an empty string."""
    # A server can decode %2e%2e, and a proxy before it a second time.
    decoded = path
    for _ in range(_MAX_DECODINGS):
        decoded = unquote(decoded)
    if decoded.startswith("/") or "\\" in decoded or _DRIVE.match(decoded):
        return "must be relative, with '/' between its parts"
    if ".." in decoded.split("/"):
        return "must not contain '..'"
    if "" in decoded.split("/") or "." in decoded.split("/") or len(path) > 1024:
        return "must not contain empty parts or '.', nor exceed 1024 characters"
    return "must not contain '?' or '#'" if "?" in path or "#" in path else ""


def read_relative_path(node: Node, findings: Findings) -> str | None:
    """Read a relative path. Report one that could leave its folder."""
    text = read_text(node, findings)
    if text is None:
        return None
    if problem := find_path_problem(text):
        findings.error(node.pointer, Code.INVALID_PATH, f"The path {problem}.")
        return None
    return text


def read_artifact_path(node: Node, findings: Findings) -> str | None:
    """Read the path of an archive or a specification."""
    path = read_relative_path(node, findings)
    if path is None:
        return None
    name = path.rpartition("/")[2]
    if any(name.endswith(suffix) and name != suffix for suffix in SUFFIXES):
        return path
    findings.error(node.pointer, Code.INVALID_PATH, f"The path must end in {', '.join(SUFFIXES)}.")
    return None


def read_prefix(node: Node, findings: Findings) -> str | None:
    """Read a prefix of paths; a slash at its end is removed."""
    if isinstance(node.value, str) and node.value.endswith("/") and node.value != "/":
        node = Node(node.value.removesuffix("/"), node.pointer)
    return read_relative_path(node, findings)


def read_folder(node: Node, findings: Findings) -> str | None:
    """Read an absolute or relative folder without '..'."""
    text = read_text(node, findings)
    if text is None:
        return None
    folder = text.rstrip("/")
    problem = find_path_problem(folder.removeprefix("/")) if folder else "must not be the root folder"
    if problem:
        findings.error(node.pointer, Code.INVALID_PATH, f"The folder {problem}.")
        return None
    return folder
