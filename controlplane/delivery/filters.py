"""The filter of a sink: which events go to it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from controlplane.delivery.cloudevents import Origin, attributes
from controlplane.delivery.expressions import Expression, parse_expression
from controlplane.delivery.logged_event import LoggedEvent
from controlplane.errors import FieldError, InvalidRequest, InvalidScope
from controlplane.scopes import Scope


@dataclass(frozen=True)
class SinkFilter:
    """All of its parts must hold; an empty part holds for every event.

    types: names, or a kind with all its types, as `agent.*`. scopes: events at and below them. labels: as in
    the data's `labels`. expression: of CloudEvents SQL, see expressions.py.
    """

    types: tuple[str, ...] = ()
    scopes: tuple[Scope, ...] = ()
    teams: tuple[str, ...] = ()
    object_types: tuple[str, ...] = ()
    labels: Mapping[str, str] | None = None
    expression: str = ""

    @cached_property
    def _parsed(self) -> Expression | None:
        return parse_expression(self.expression) if self.expression else None

    def check(self, pointer: str = "/filter") -> None:
        """Raise InvalidRequest if the expression cannot be read. pointer: where the filter stands."""
        try:
            _ = self._parsed
        except InvalidRequest as error:
            message = str(error)
            raise InvalidRequest(
                message, errors=[FieldError(f"{pointer}/expression", "invalid", message)]
            ) from error

    def matches(self, event: LoggedEvent, origin: Origin) -> bool:
        return (
            (not self.types or any(is_named(event.type, wanted) for wanted in self.types))
            and (not self.scopes or any(scope.covers(event.scope) for scope in self.scopes))
            and (not self.teams or event.team in self.teams)
            and (not self.object_types or event.object_type in self.object_types)
            and self._has_labels(event)
            and self._is_expressed(event, origin)
        )

    def _has_labels(self, event: LoggedEvent) -> bool:
        present = event.data.get("labels")
        present = present if isinstance(present, Mapping) else {}
        return all(present.get(name) == value for name, value in (self.labels or {}).items())

    def _is_expressed(self, event: LoggedEvent, origin: Origin) -> bool:
        if self._parsed is None:
            return True
        return self._parsed.matches({**attributes(event, origin), "data": event.data})


def is_named(event_type: str, wanted: str) -> bool:
    """True if the type has this name, or belongs to this kind (`agent.*`), or any type is wanted (`*`)."""
    if wanted.endswith("*"):
        return event_type.startswith(wanted[:-1])
    return event_type == wanted


def filter_from(document: Mapping[str, Any], pointer: str = "/filter") -> SinkFilter:
    """Return the filter from its JSON, as the API and the database have it.

    pointer: where the filter stands. Raises InvalidRequest for a scope that cannot be.
    """
    scopes = enumerate(document.get("scopes", ()))
    return SinkFilter(
        types=tuple(document.get("types", ())),
        scopes=tuple(_scope(scope, f"{pointer}/scopes/{number}") for number, scope in scopes),
        teams=tuple(document.get("teams", ())),
        object_types=tuple(document.get("object_types", ())),
        labels=dict(document.get("labels", {})),
        expression=document.get("expression", ""),
    )


def _scope(segments: Mapping[str, str], pointer: str) -> Scope:
    try:
        return Scope(**segments)
    except InvalidScope as error:
        # Scopes stand in queries elsewhere.
        at_body = [replace(field, pointer=f"{pointer}/{field.pointer.lstrip('?')}") for field in error.errors]
        raise InvalidRequest(str(error), errors=at_body) from error
