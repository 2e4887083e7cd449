"""The change in the editor as commands, YAML and Terraform, for the copy buttons."""

from __future__ import annotations

import json
import shlex
from urllib.parse import urlencode

from django.http import HttpRequest

from console.terraform import MANAGER, applied_object
from controlplane.errors import ControlplaneError
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
    options = " ".join(
        f"--{name.replace('_', '-')} {shlex.quote(value)}" for name, value in _named(address.scope).items()
    )
    return {
        "curl": 'curl -X PUT -H "Authorization: Bearer $TOKEN" -H "Content-Type: application/json" '
        f'{precondition}"{host}/api/v1/{path}" -d {shlex.quote(body)}',
        "cpctl": f"cpctl get overrides {options} -o overrides.yaml && cpctl apply -f overrides.yaml",
        "yaml": text,
        "terraform": _terraform(host, path, address, attributes) if attributes else "",
    }


def _terraform(host: str, path: str, address: Address, attributes: Attributes) -> str:
    """Return the override as Terraform; empty if the attributes are not valid yet."""
    resource_type = current_catalogue().get(address.resource_type)
    try:
        shown = resource_type.show(resource_type.read(attributes))
    except ControlplaneError:
        return ""
    document = {"kind": KIND, **entry_of(address.scope), "spec": {resource_type.document_key: shown}}
    return applied_object(host, str(address), path, document, destroy_query=f"managed_by={MANAGER}")


def _named(scope: Scope) -> dict[str, str]:
    return {name: value for name, value in scope.segments.items() if value}
