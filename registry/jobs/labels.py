"""Labels of a job for its pods: JOB_LABELS. Pure."""

from __future__ import annotations

import re
from collections.abc import Mapping

_LONGEST = 63
_NOT_ALLOWED = re.compile(r"[^\w-]", re.ASCII)


def sanitize_label(text: str) -> str:
    """Return the text as a label: lower case, at most 63 of `[a-z0-9_-]`, others replaced by `-`."""
    return _NOT_ALLOWED.sub("-", text.lower())[:_LONGEST]


def write_labels(labels: Mapping[str, str], of_job: Mapping[str, str]) -> str:
    """Return `key=value,key=value` in the order of the keys. Labels that name the job win."""
    sanitized = {sanitize_label(key): sanitize_label(value) for key, value in labels.items()}
    sanitized |= {sanitize_label(key): sanitize_label(value) for key, value in of_job.items()}
    return ",".join(f"{key}={value}" for key, value in sorted(sanitized.items()))
