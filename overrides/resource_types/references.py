"""References between resource types: values of one that should be among the values of another. Pure.

They are warnings and no errors: a team that may set a tag may not be allowed to add the queue that has it.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from controlplane.errors import FieldError
from overrides.resolution.leaves import escape
from overrides.resolution.merging import ANY_ITEM, SchemaPath
from overrides.resource_types.definition import Reference, ResourceType

_MAX_WARNINGS = 50
# Names among which the nearest is looked for.
_MAX_NAMES = 200


def reference_warnings(
    types: Iterable[ResourceType], attributes: Mapping[str, Mapping[str, Any]]
) -> Mapping[str, tuple[FieldError, ...]]:
    """Return warnings by the name of the type that has the value. attributes: effective ones, by type.

    A type that declares references, but of which nothing is set, refers to nothing yet: no warnings.
    """
    by_type: dict[str, tuple[FieldError, ...]] = {}
    for resource_type in types:
        known = attributes.get(resource_type.name)
        for reference in resource_type.references if known else ():
            values = attributes.get(reference.resource_type, {})
            if warnings := tuple(
                islice(_warnings(reference, resource_type, values, known or {}), _MAX_WARNINGS)
            ):
                by_type[reference.resource_type] = by_type.get(reference.resource_type, ()) + warnings
    return by_type


def _warnings(
    reference: Reference, to: ResourceType, values: Mapping[str, Any], known: Mapping[str, Any]
) -> Iterator[FieldError]:
    allowed = {value: None for _, value in values_at(known, reference.to) if isinstance(value, str)}
    names = list(allowed)[:_MAX_NAMES]
    for pointer, value in values_at(values, reference.path):
        if not isinstance(value, str) or value in allowed:
            continue
        nearest = difflib.get_close_matches(value[:80], names, n=1, cutoff=0.5)
        advice = f"Did you mean {nearest[0]!r}?" if nearest else _listed(names)
        message = f"{value[:80]!r} matches nothing in {to.name}, so it has no effect. {advice}"
        yield FieldError(pointer, "unknown_reference", message)


def _listed(names: Sequence[str]) -> str:
    listed = ", ".join(names)[:200]
    return f"Use one of {listed}." if listed else "Add it there, or remove it here."


def values_at(document: Any, path: SchemaPath, pointer: str = "") -> Iterator[tuple[str, Any]]:
    """Yield JSON Pointer and value of everything at the path; the step `*` matches any item or member."""
    if not path:
        yield pointer, document
        return
    step, *rest = path
    if isinstance(document, list) and step == ANY_ITEM:
        for index, item in enumerate(document):
            yield from values_at(item, tuple(rest), f"{pointer}/{index}")
    elif isinstance(document, Mapping):
        names = document if step == ANY_ITEM else [step] if step in document else []
        for name in names:
            yield from values_at(document[name], tuple(rest), f"{pointer}/{escape(name)}")
