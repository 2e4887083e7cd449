"""Checks of a resource's spec: by the resource type with the name of its service type, and by guard rails."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controlplane.errors import InvalidAttributes
from controlplane.scopes import Scope
from overrides.editing.validation import check_stated
from overrides.loading.catalogue_cache import current_catalogue
from overrides.resolution.addresses import Address, Statement
from overrides.resource_types import ResourceType
from overrides.resource_types.catalogue import RuleChange

_POINTER = "/spec"


def check_spec(service_type: str, spec: Mapping[str, Any], scope: Scope) -> None:
    """Raise InvalidAttributes or RailBroken. A service type without a resource type accepts any object."""
    catalogue = current_catalogue()
    resource_type = catalogue.types.get(service_type)
    if resource_type is None:
        return
    attributes = dict(spec)
    _check_schema(resource_type, attributes)
    # In the spelling of the schema: otherwise a guard rail could be avoided with another spelling.
    statement = Statement(
        Address(service_type, scope), resource_type.read(attributes, _POINTER), pointer=_POINTER
    )
    check_stated([(statement, None)], RuleChange(catalogue, catalogue), only_rails=True)


def _check_schema(resource_type: ResourceType, attributes: dict[str, Any]) -> None:
    # The partial schema first: it limits the size. A spec must also have the required members.
    errors = resource_type.errors(attributes, _POINTER) or resource_type.resolved_errors(attributes, _POINTER)
    if errors:
        more = f" And {len(errors) - 1} more." if len(errors) > 1 else ""
        raise InvalidAttributes(
            f"The spec is not valid for the resource type {resource_type.name}: {errors[0].message}{more}",
            errors=errors,
        )
