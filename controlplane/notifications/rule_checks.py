"""Checks of what people write of a rule. Pure."""

from __future__ import annotations

from uuid import UUID

from controlplane.delivery.filters import is_named
from controlplane.errors import FieldError, InvalidRequest
from controlplane.events.types import registered
from controlplane.notifications.rules import EXCLUDED_KINDS, FLYTE_WORKFLOW, RuleSpec, rule_from
from controlplane.notifications.templates import check_template

# Terminal phases of Flyte (flyteidl, core/execution.proto); others are no news for people.
PHASES = ("SUCCEEDED", "FAILED", "ABORTED", "TIMED_OUT")
_NOBODY = UUID(int=0)


def check_rule(spec: RuleSpec) -> None:
    """Raise InvalidRequest for types, phases, expressions, templates or quiet hours that cannot work."""
    types = tuple(spec.when.get("types", ()))
    for name in types:
        if name.partition(".")[0] in EXCLUDED_KINDS:
            message = f"Notifications cannot report themselves: remove {name!r}."
            raise _error("/when/types", message)
    if spec.when.get("phases") and types and not any(is_named(FLYTE_WORKFLOW, name) for name in types):
        raise _error("/when/phases", f"Only events of type {FLYTE_WORKFLOW} have phases. Add it to `types`.")
    rule_from(spec, rule_id=_NOBODY, created_by=_NOBODY).filter.check("/when")
    names = data_names(types)
    check_template(spec.dedupe_key, "/dedupe_key", names)
    check_template(spec.subject, "/subject", names)
    check_template(spec.body, "/body", names)
    if any(character in spec.subject for character in "\r\n"):
        raise _error("/subject", "The subject has a line break. Remove it.")


def data_names(types: tuple[str, ...]) -> frozenset[str]:
    """Return the fields in the data of these types; `*` if one of them can have any field."""
    names: set[str] = set()
    for event_type in registered():
        if types and not any(is_named(event_type.name, name) for name in types):
            continue
        names |= set(event_type.schema.get("properties", {}))
        if event_type.schema.get("additionalProperties") is not False:
            names.add("*")
    if any(name.startswith("flyte.") for name in types):
        names.add("*")
    return frozenset(names)


def _error(pointer: str, message: str) -> InvalidRequest:
    return InvalidRequest(message, errors=[FieldError(pointer, "invalid", message)])
