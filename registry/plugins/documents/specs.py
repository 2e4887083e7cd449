"""A plugin's specification in either format: the second one has a field `version`. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from controlplane.errors import MalformedBody
from controlplane.formats import strict_yaml
from registry.plugins.documents.reading import Reading
from registry.plugins.documents.spec_v1 import SpecV1, read_spec_v1
from registry.plugins.documents.spec_v2 import DEFAULT_VERSION, SpecV2, read_spec_v2


def format_of(text: str) -> int:
    """Return the format that the text is meant to have; 1 if it cannot be read."""
    try:
        document = strict_yaml.load(text)
    except MalformedBody:
        return 1
    return 2 if isinstance(document, Mapping) and "version" in document else 1


def read_spec(text: str) -> Reading[SpecV1] | Reading[SpecV2]:
    return read_spec_v2(text) if format_of(text) == 2 else read_spec_v1(text)


def versions_of(spec: SpecV1 | SpecV2) -> list[str]:
    """Return the names of the versions that a job can choose."""
    if isinstance(spec, SpecV1):
        return [spec.version]
    return [name for name in spec.versions if name != DEFAULT_VERSION]
