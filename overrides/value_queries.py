"""Find overrides by a value that they set."""

from __future__ import annotations

from django.db.models import Q

from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from overrides.loading.catalogue_cache import current_catalogue
from overrides.models import Override
from overrides.querysets import SORT_KEYS, OverrideQuerySet
from overrides.value_terms import ValueTerm, documents_with, parse_term


def sets_value(term: ValueTerm) -> Q:
    """Return the condition that an override sets the value; the index override_by_value serves it."""
    condition = Q(pk__in=[])
    for resource_type in current_catalogue().types.values():
        contained = Q()
        for document in documents_with(term, resource_type.schema):
            contained |= Q(attributes__contains=document)
        condition |= Q(resource_type=resource_type.name) & contained
    return condition


def overrides_with(text: str, caller: Caller) -> OverrideQuerySet[Override]:
    """Return the overrides that the caller can read and that set what the text says, as in `limits.cpu=4`."""
    term = parse_term(text)
    if term is None:
        return Override.objects.none()
    rows = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    return rows.filter(sets_value(term)).order_by(*SORT_KEYS.order("scope"))
