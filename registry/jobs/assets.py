"""Names of a job's files. Pure. They become paths below a folder that the executor reads."""

from __future__ import annotations

import re

_LONGEST = 255
_UNSAFE = re.compile(r"[\x00-\x1f\x7f\\:]")
# Written by the boot itself, next to the files of the job.
RESERVED_NAMES = frozenset({".env", ".secret", "env", "secret", "env.json", "entrypoint"})


def asset_name_error(name: str) -> str:
    """Return why the name is not a relative path inside of the folder, or empty text."""
    if not name or len(name.encode()) > _LONGEST:
        return f"The name of a file has 1 to {_LONGEST} bytes."
    if _UNSAFE.search(name):
        return "The name contains a control character, a backslash or a colon."
    if any(part in ("", ".", "..") for part in name.split("/")):
        return "The name must be a relative path without empty parts, . and .. in it."
    if name.partition("/")[0].lower() in RESERVED_NAMES:
        return f"The name is reserved for the boot: {', '.join(sorted(RESERVED_NAMES))}."
    return ""
