"""Filters of SCIM lists in SQL: `eq` comparisons, joined by `and`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from uuid import UUID

from django.db.models import Q
from scim2_models import InvalidFilterException, ScimFilter
from scim2_models.path import CompareOperator, Comparison, FilterNode, LogicalExpr, LogicalOperator

from controlplane.access.team_models import Via

_MAX_LENGTH = 1000
_NOTHING = Q(pk__in=[])
Condition = Callable[[Any], Q]


def _text(column: str) -> Condition:
    return lambda value: Q(**{column: value}) if isinstance(value, str) and "\0" not in value else _NOTHING


def _uuid(column: str, **also: str) -> Condition:
    def condition(value: Any) -> Q:
        try:
            return Q(**{column: UUID(str(value))}, **also)
        except ValueError:
            return _NOTHING

    return condition


def _is_active(value: Any) -> Q:
    # Entra ID sends "True".
    return Q(principal__is_active=str(value).lower() == "true")


_MEMBER = _uuid("team__memberships__principal_id", team__memberships__via=Via.SCIM.value)
# By the attribute's name in lower case, as SCIM compares it.
USER_FILTERS: Mapping[str, Condition] = {
    "id": _uuid("principal_id"),
    "username": _text("user_name__iexact"),
    "externalid": _text("external_id"),
    "displayname": _text("principal__display_name__iexact"),
    "emails": _text("principal__email__iexact"),
    "emails.value": _text("principal__email__iexact"),
    "active": _is_active,
}
GROUP_FILTERS: Mapping[str, Condition] = {
    "id": _uuid("team_id"),
    "displayname": _text("display_name__iexact"),
    "externalid": _text("external_id"),
    "members": _MEMBER,
    "members.value": _MEMBER,
}


def condition_of(text: str, filters: Mapping[str, Condition]) -> Q:
    """Return the filter as a condition. Raises InvalidFilterException."""
    if not text:
        return Q()
    if len(text) > _MAX_LENGTH:
        raise InvalidFilterException(detail=f"A filter can have at most {_MAX_LENGTH} characters.")
    return _condition(ScimFilter[Any](text).ast, filters)


def _condition(node: FilterNode, filters: Mapping[str, Condition]) -> Q:
    if isinstance(node, LogicalExpr) and node.op == LogicalOperator.and_:
        condition = Q()
        for term in node.terms:
            condition &= _condition(term, filters)
        return condition
    if isinstance(node, Comparison) and node.op == CompareOperator.eq:
        path = node.attr_path
        name = f"{path.attr}.{path.sub_attr}" if path.sub_attr else path.attr
        if (condition_for := filters.get(name.lower())) is not None:
            return condition_for(node.value)
    raise InvalidFilterException(
        detail=f"Supported filters compare {', '.join(sorted(filters))} with `eq`, joined by `and`."
    )
