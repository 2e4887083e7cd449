"""The actor of changes that are loaded from files, whose reason names their commit. Pure."""

from __future__ import annotations

import re
from dataclasses import replace

from controlplane.identity.actors import Actor, system

FILES = system("files")
_AT_COMMIT = re.compile(r"Loaded from files at commit ([0-9a-f]+)\.")


def files_at(commit: str) -> Actor:
    """Return the actor for a set of files. Its reason names their commit, if it is known."""
    return replace(FILES, reason=f"Loaded from files at commit {commit}.") if commit else FILES


def commit_of(changed_by: str, change_message: str) -> str:
    """Return the commit of the files that a change was loaded from; empty for other changes."""
    match = _AT_COMMIT.fullmatch(change_message) if changed_by == FILES.name else None
    return match.group(1) if match else ""
