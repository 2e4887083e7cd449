"""The change in the editor as commands, YAML and Terraform, for the copy buttons."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest

from console.terraform import MANAGER, applied_object
from controlplane.errors import ControlplaneError
from controlplane.formats import strict_yaml
from controlplane.scopes import Scope
from overrides.documents.documents import KIND, entry_of
from overrides.loading.catalogue_cache import current_catalogue
from overrides.resolution.addresses import Address
from overrides.resolution.merging import Attributes


def change_copies(
    request: HttpRequest, address: Address, text: str, attributes: Attributes, version: int
) -> dict[str, str]:
    """Return the change as commands and files. version: the one to replace; 0 for a new override."""
    host = f"{request.scheme}://{request.get_host()}"
    query = urlencode(_named(address.scope))
    path = f"overrides/{address.resource_type}{'?' if query else ''}{query}"
    body = json.dumps({"attributes": attributes})
    precondition = f'-H "If-Match: \\"v{version}\\"" ' if version else ""
    document = _document(address, attributes)
    return {
        "curl": 'curl -X PUT -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" '
        f'{precondition}"{host}/api/v1/{path}" -d {shlex.quote(body)}',
        "cpctl": _applied(document) if document else "",
        "yaml": text,
        "terraform": _terraform(host, path, address, document) if document else "",
    }


def _document(address: Address, attributes: Attributes) -> Mapping[str, Any] | None:
    """Return the document with the override; None without attributes, and while they are not valid."""
    resource_type = current_catalogue().get(address.resource_type)
    try:
        shown = resource_type.show(resource_type.read(attributes))
    except ControlplaneError:
        return None
    spec = {resource_type.document_key: shown}
    return {"kind": KIND, **entry_of(address.scope), "spec": spec} if attributes else None


def _applied(document: Mapping[str, Any]) -> str:
    """Return a command that applies the document, which follows it."""
    return f"cpctl apply -f - <<'END'\n{strict_yaml.dump(document)}END"


def _terraform(host: str, path: str, address: Address, document: Mapping[str, Any]) -> str:
    return applied_object(host, str(address), path, document, destroy_query=f"managed_by={MANAGER}")


def _named(scope: Scope) -> dict[str, str]:
    return {name: value for name, value in scope.segments.items() if value}
