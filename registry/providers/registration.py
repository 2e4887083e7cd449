"""Registration of a service provider, and its validation. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import urlsplit

from controlplane.errors import FieldError, InvalidProvider
from registry.providers.health import Health

PROVIDER_ID = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
_SCHEMA_VERSION = re.compile(r"v[0-9]+(alpha|beta)?[0-9]*")


class Kind(StrEnum):
    """embedded: runs in the process of the agent."""

    EMBEDDED = "embedded"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class ProviderRegistration:
    """Registration of a provider. status: result of the agent's first probe, if any."""

    name: str
    endpoint: str
    service_type: str
    schema_version: str
    kind: Kind = Kind.EXTERNAL
    display_name: str = ""
    operations: tuple[str, ...] = ()
    metadata: dict[str, Any] | None = None
    status: Health | None = None

    def facts(self) -> dict[str, Any]:
        """Return the values by column of `Provider`."""
        columns = {name: value for name, value in asdict(self).items() if name != "status"}
        return {**columns, "kind": self.kind.value, "operations": list(self.operations)}


def check(registration: ProviderRegistration, provider_id: str | None) -> None:
    """Raise InvalidProvider for values that have the right JSON type but are not valid."""
    errors = list(_errors(registration, provider_id))
    if errors:
        raise InvalidProvider(" ".join(error.message for error in errors), errors=errors)


def _errors(registration: ProviderRegistration, provider_id: str | None) -> Iterator[FieldError]:
    if provider_id is not None and not PROVIDER_ID.fullmatch(provider_id):
        message = "An id must have 1 to 63 characters of a-z, 0-9 and -, and must not begin or end with -."
        yield FieldError("?id", "malformed", message)
    if not _SCHEMA_VERSION.fullmatch(registration.schema_version):
        yield FieldError("/schema_version", "malformed", "A schema version must look like v1 or v1alpha1.")
    if not _is_address(registration.endpoint):
        yield FieldError(
            "/endpoint", "malformed", "An endpoint must be an HTTP URI, such as http://kubevirt:8081/vms."
        )
    elif "@" in urlsplit(registration.endpoint).netloc:
        message = "Remove the user name and password: everyone who can read agents would see them."
        yield FieldError("/endpoint", "has_user", message)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # invalid port
        return False
