"""Where the file of a value is at the Git host. Pure."""

from __future__ import annotations

from urllib.parse import quote


def file_url(template: str, place: str) -> str:
    """Return the address of a place such as `teams/ml.yaml:12`; empty without a template or a place.

    template: with `{file}`, and `{line}` if the host can show a line (OVERRIDES_FILE_URL).
    """
    file, _, line = place.rpartition(":")
    if not template or not file or not line.isdecimal():
        return ""
    return template.replace("{file}", quote(file)).replace("{line}", line)
