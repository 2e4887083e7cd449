"""Objects as Terraform, for the copy buttons of pages: resources of the provider Mastercard/restapi. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

# All resources apply as this manager, so that each leaves what others set.
MANAGER = "terraform"
_SETTINGS = """\
terraform {
  required_providers {
    restapi = {
      source  = "Mastercard/restapi"
      version = "~> 1.20"
    }
  }
}

variable "controlplane_token" {
  type      = string
  sensitive = true
}

provider "restapi" {
  uri = @URI@
  headers = {
    "Authorization" = "Bearer ${var.controlplane_token}"
    "Content-Type"  = "application/json"
    "If-Match"      = "*"
  }
}
"""
_RESOURCE = """\
resource "restapi_object" @NAME@ {
  object_id                 = @ID@
  path                      = @PATH@
  create_path               = @APPLY@
  update_path               = @APPLY@
  update_method             = "POST"
  read_path                 = @PATH@
  destroy_path              = @DESTROY@
  ignore_all_server_changes = true
  data = jsonencode(@DATA@)
}
"""


def applied_object(
    uri: str, name: str, path: str, document: Mapping[str, Any], *, destroy_query: str = ""
) -> str:
    """Return a file of Terraform that applies the document, and deletes what is at the path on destroy.

    uri: of the server. path: of the object, below /api/v1/. destroy_query: added to the path of a deletion.
    """
    joined = "&" if "?" in path else "?"
    destroy = f"/{path}{joined}{destroy_query}" if destroy_query else f"/{path}"
    values = {
        "NAME": quoted(_identifier(name)),
        "ID": quoted(name),
        "PATH": quoted(f"/{path}"),
        "APPLY": quoted(f"/overrides:apply?managed_by={MANAGER}"),
        "DESTROY": quoted(destroy),
        "DATA": _expression({"documents": [document]}).replace("\n", "\n  "),
    }
    settings = _SETTINGS.replace("@URI@", quoted(f"{uri}/api/v1"))
    resource = re.sub(r"@([A-Z]+)@", lambda match: values[match.group(1)], _RESOURCE)
    return f"{settings}\n{resource}"


def _identifier(name: str) -> str:
    """Return a name for a resource, which begins with a letter or an underscore."""
    words = re.sub(r"\W+", "_", name, flags=re.ASCII).strip("_")
    return words if words[:1].isalpha() else f"_{words}"


def quoted(text: str) -> str:
    """Return a string of HCL. Its templates begin with `${` and `%{`, and are literal when doubled."""
    escaped = json.dumps(text, ensure_ascii=False).replace("\\b", "\\u0008").replace("\\f", "\\u000c")
    return escaped.replace("${", "$${").replace("%{", "%%{")


def _expression(value: Any, indent: str = "") -> str:
    """Return a value as an expression of HCL, one member a line."""
    inner = f"{indent}  "
    if isinstance(value, Mapping):
        members = [f"{inner}{quoted(str(key))} = {_expression(each, inner)}" for key, each in value.items()]
        return "\n".join(["{", *members, f"{indent}}}"]) if members else "{}"
    if isinstance(value, list | tuple):
        items = [f"{inner}{_expression(each, inner)}," for each in value]
        return "\n".join(["[", *items, f"{indent}]"]) if items else "[]"
    return quoted(value) if isinstance(value, str) else json.dumps(value)
