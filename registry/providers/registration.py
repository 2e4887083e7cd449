"""What a service provider says of itself when it registers, and what is wrong with it. Pure."""

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
    """embedded: a part of the agent's own process."""

    EMBEDDED = "embedded"
    EXTERNAL = "external"


@dataclass(frozen=True, slots=True)
class ProviderRegistration:
    """status: what the agent's first probe said, if there was one."""

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
        """As the columns of a provider hold it."""
        said = {name: value for name, value in asdict(self).items() if name != "status"}
        return {**said, "kind": self.kind.value, "operations": list(self.operations)}


def check(registration: ProviderRegistration, provider_id: str | None) -> None:
    """Raise InvalidProvider for what has the right JSON type and cannot be."""
    found = list(_wrong(registration, provider_id))
    if found:
        raise InvalidProvider(" ".join(one.message for one in found), errors=found)


def _wrong(registration: ProviderRegistration, provider_id: str | None) -> Iterator[FieldError]:
    if provider_id is not None and not PROVIDER_ID.fullmatch(provider_id):
        message = "An id has 1 to 63 of a-z, 0-9 and -, and neither begins nor ends with -."
        yield FieldError("?id", "malformed", message)
    if not _SCHEMA_VERSION.fullmatch(registration.schema_version):
        yield FieldError("/schema_version", "malformed", "A schema version is such as v1 or v1alpha1.")
    if not _is_address(registration.endpoint):
        yield FieldError("/endpoint", "malformed", "An endpoint is a URI such as http://kubevirt:8081/vms.")
    elif "@" in urlsplit(registration.endpoint).netloc:
        message = "An endpoint has no user and no password: everybody who may read agents would see them."
        yield FieldError("/endpoint", "has_user", message)


def _is_address(text: str) -> bool:
    try:
        parts = urlsplit(text)
        return parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:  # the port is none
        return False
