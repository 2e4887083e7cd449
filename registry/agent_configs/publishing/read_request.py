"""Read a document by the limits that the settings say, and count how it went."""

from __future__ import annotations

from typing import Any

from registry.agent_configs.documents.reading import Reading, read_document, read_object
from registry.agent_configs.metrics import VALIDATION_SECONDS, VALIDATIONS
from registry.agent_configs.storage import policies


def read(text: str, *, source: str) -> Reading:
    with VALIDATION_SECONDS.time():
        reading = read_document(text, policies.limits())
    return _counted(reading, source)


def read_parsed(value: Any, *, source: str, counted: bool = True) -> Reading:
    """The same of what a Kubernetes API has parsed already. counted: not where nothing was published."""
    if not counted:
        return read_object(value, policies.limits())
    with VALIDATION_SECONDS.time():
        reading = read_object(value, policies.limits())
    return _counted(reading, source)


def _counted(reading: Reading, source: str) -> Reading:
    VALIDATIONS.labels(source, "invalid" if reading.errors else "valid").inc()
    return reading
