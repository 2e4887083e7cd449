"""Guard rails and resource types as commands, YAML and Terraform, for the copy buttons."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest

from console.cpctl_commands import cpctl, curl
from console.terraform import applied_object
from controlplane.formats import strict_yaml


def rail_copies(
    request: HttpRequest, document: Mapping[str, Any], replaced: int | None = None
) -> dict[str, str]:
    """Return a guard rail for the copy buttons.

    replaced: the version that commands replace, 0 for a new guard rail; None: commands read it.
    """
    name = document["name"]
    path = f"guard-rails/{name}"
    copies = {"curl": curl(request, "GET", path), "cpctl": cpctl("get", "guard-rail", name)}
    if replaced is not None:
        copies["curl"] = curl(request, "PUT", path, document, version=replaced)
        copies["cpctl"] = cpctl("guard-rails", "set", name, "-f", f"{name}.yaml")
    return {
        **copies,
        "yaml": strict_yaml.dump(dict(document)),
        "terraform": applied_object(_host(request), name, path, {"kind": "guardRail", **document}),
    }


def built_in_copies(request: HttpRequest, name: str) -> dict[str, str]:
    """Return the commands that read a resource type."""
    return {
        "curl": curl(request, "GET", f"resource-types/{name}"),
        "cpctl": cpctl("get", "resource-type", name),
    }


def type_copies(
    request: HttpRequest, definition: Mapping[str, Any], replaced: int | None = None
) -> dict[str, str]:
    """Return a custom resource type for the copy buttons.

    replaced: the version that commands replace, 0 for a new type; None: commands read it.
    """
    name = definition["name"]
    path = f"resource-types/{name}"
    copies = built_in_copies(request, name)
    if replaced == 0:
        copies["curl"] = curl(request, "POST", "resource-types", definition)
        copies["cpctl"] = cpctl("resource-types", "create", "-f", f"{name}.yaml")
    elif replaced:
        copies["curl"] = curl(request, "PUT", path, definition, version=replaced)
        copies["cpctl"] = cpctl("resource-types", "update", name, "-f", f"{name}.yaml")
    document = {"kind": "resourceType", "definition": definition}
    return {
        **copies,
        "yaml": strict_yaml.dump(dict(definition)),
        "terraform": applied_object(_host(request), name, path, document),
    }


def _host(request: HttpRequest) -> str:
    return request.build_absolute_uri("/").rstrip("/")
