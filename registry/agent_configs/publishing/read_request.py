"""Read a document by the limits of the settings, and count the results."""

from __future__ import annotations

from typing import Any

from registry.agent_configs.documents.reading import Reading, read_document, read_object
from registry.agent_configs.metrics import VALIDATION_SECONDS, VALIDATIONS
from registry.agent_configs.storage import policies

_SOURCES = frozenset({"api", "folder", "admission"})


def read_text(text: str, *, source: str) -> Reading:
    with VALIDATION_SECONDS.time():
        reading = read_document(text, policies.document_limits())
    return _count_validation(reading, source)


def read_parsed(value: Any, *, source: str, counted: bool = True) -> Reading:
    """Read an object that a Kubernetes API has parsed. counted: False if nothing is published."""
    if not counted:
        return read_object(value, policies.document_limits())
    with VALIDATION_SECONDS.time():
        reading = read_object(value, policies.document_limits())
    return _count_validation(reading, source)


def _count_validation(reading: Reading, source: str) -> Reading:
    # Those of all clusters together.
    label = source if source in _SOURCES else "kubernetes"
    VALIDATIONS.labels(label, "invalid" if reading.errors else "valid").inc()
    return reading
