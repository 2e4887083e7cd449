"""The operator's platform defaults: a file that is read once, at startup.

They are immutable while the process runs, like FlyteAdmin's own configuration, and rank below everything
that is set through the API.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from django.conf import settings

from controlplane.errors import ControlplaneError, FieldError, InvalidRequest
from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from overrides.resolution.merging import Attributes
from overrides.resource_types import BUILT_IN

KIND = "platformDefaults"


@dataclass(frozen=True, slots=True)
class PlatformDefaults:
    """Attributes by type name, for the whole platform and for single domains. digest: of the file."""

    digest: str = ""
    entries: tuple[tuple[Scope, str, Attributes], ...] = ()
    path: str = field(default="", compare=False)

    def of(self, resource_type: str) -> Iterator[tuple[Scope, Attributes]]:
        return ((scope, attributes) for scope, name, attributes in self.entries if name == resource_type)


@cache
def platform_defaults() -> PlatformDefaults:
    """Read the file at PLATFORM_DEFAULTS_PATH. Raises ControlplaneError with a description of the error."""
    path = settings.PLATFORM_DEFAULTS_PATH
    if not path:
        return PlatformDefaults()
    try:
        text = Path(path).read_text()
    except OSError as error:
        raise InvalidRequest(f"Cannot read the file at PLATFORM_DEFAULTS_PATH: {error}.") from error
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return PlatformDefaults(digest, tuple(parse(strict_yaml.load(text))), Path(path).name)


def parse(document: Any) -> Iterator[tuple[Scope, str, Attributes]]:
    """Yield the entries of the document. Raises InvalidRequest or InvalidAttributes."""
    members = {"apiVersion", "kind", "spec", "domains"}
    if not isinstance(document, Mapping) or document.get("kind") != KIND or set(document) - members:
        raise InvalidRequest(
            f"Platform defaults must be an object with `kind: {KIND}`, `spec` and `domains`."
        )
    if not document.keys() & {"spec", "domains"}:
        raise InvalidRequest("The platform defaults are empty. Add `spec`, `domains` or both.")
    yield from _entries(Scope(), document.get("spec") or {}, "/spec")
    for domain, spec in (document.get("domains") or {}).items():
        yield from _entries(Scope(domain=domain), spec or {}, f"/domains/{domain}")


def _entries(scope: Scope, spec: Any, pointer: str) -> Iterator[tuple[Scope, str, Attributes]]:
    by_key = {resource_type.document_key: resource_type for resource_type in BUILT_IN.values()}
    for key, document in spec.items() if isinstance(spec, Mapping) else ():
        if (resource_type := by_key.get(key)) is None:
            message = f"Unknown built-in type {key!r}. Use one of {', '.join(by_key)}."
            raise InvalidRequest(message, errors=[FieldError(f"{pointer}/{key}", "unknown_field", message)])
        attributes = resource_type.read_document(document, f"{pointer}/{key}")
        resource_type.check(attributes)
        yield scope, resource_type.name, attributes


def problem() -> str:
    """Return the error in the file, for the start-up check; empty if there is none."""
    try:
        platform_defaults()
    except ControlplaneError as error:
        return error.detail
    return ""
