"""Validate statements by themselves: level, attributes, and the guard rails over them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from controlplane.errors import ControlplaneError, FieldError, InvalidAttributes, LevelNotAllowed, RailBroken
from overrides.field_managers import unchanged_leaves
from overrides.resolution.addresses import Statement
from overrides.resolution.leaves import Path, name_of
from overrides.resolution.merging import Attributes
from overrides.resolution.rails import Breach, GuardRail, breaches
from overrides.resource_types import ResourceType
from overrides.resource_types.catalogue import RuleChange
from overrides.resource_types.definition import invalid_attributes

MAX_REPORTED = 200
# The new statement, and what is set now; None for nothing.
Write = tuple[Statement, "Current | None"]
WriteError = tuple[ControlplaneError, list[FieldError]]


class Current(Protocol):
    """What is set now: the attributes, and their canonical JSON; None where nothing is set."""

    @property
    def attributes(self) -> Attributes | None: ...

    @property
    def text(self) -> str | None: ...


def check_stated(
    writes: Sequence[Write], rules: RuleChange, *, only_rails: bool = False, any_level: bool = False
) -> None:
    """Raise LevelNotAllowed, InvalidAttributes or RailBroken, with all errors of all statements.

    Documents that do not change are not checked. Guard rails apply to the values that a write changes: values
    that are set already do not break them, nor do values that arrive in the same transaction as the rail or
    limit that they break.
    """
    checks = _Checks(rules, only_rails, any_level)
    problems = [error for stated, current in writes for error in checks.of(stated, current)]
    if problems:
        error = problems[0][0]
        field_errors = [field_error for _, errors in problems for field_error in errors]
        error.errors = tuple(field_errors[:MAX_REPORTED])
        raise error


@dataclass(slots=True)
class _Checks:
    rules: RuleChange
    only_rails: bool = False
    any_level: bool = False
    # Most of ten thousand documents are equal to one of a few. The same text is another document in another
    # type, and under another version of its type.
    errors_by_document: dict[tuple[str, int, str], list[FieldError]] = field(default_factory=dict)
    rails_by_type: dict[str, list[GuardRail]] = field(default_factory=dict)
    changed_rails: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.changed_rails = frozenset(rail.name for rail in self.rules.changed_rails())

    def of(self, stated: Statement, current: Current | None) -> Iterator[WriteError]:
        if current is not None and current.text == stated.text:
            return
        resource_type = self.rules.after.get(stated.address.resource_type)
        problems = [] if self.only_rails else list(self._by_type(resource_type, stated))
        yield from problems
        if not any(isinstance(error, InvalidAttributes) for error, _ in problems) and (
            broken := list(self._rails(resource_type, stated, current.attributes if current else None))
        ):
            yield RailBroken(broken[0].message, scope=str(stated.address.scope)), broken

    def _by_type(self, resource_type: ResourceType, stated: Statement) -> Iterator[WriteError]:
        try:
            if not self.any_level:
                resource_type.check_level(stated.address.scope)
        except LevelNotAllowed as error:
            yield error, [FieldError(stated.pointer, error.code, error.detail)]
        if errors := self._attributes(resource_type, stated):
            yield invalid_attributes(str(stated.address), errors), errors

    def _attributes(self, resource_type: ResourceType, stated: Statement) -> list[FieldError]:
        key = (resource_type.name, resource_type.version, stated.text)
        if (errors := self.errors_by_document.get(key)) is None:
            errors = self.errors_by_document[key] = resource_type.errors(stated.attributes, "")
        return [replace(error, pointer=f"{stated.pointer}{error.pointer}") for error in errors]

    def _rails(
        self, resource_type: ResourceType, stated: Statement, current: Attributes | None
    ) -> Iterator[FieldError]:
        for breach in self._breaches(resource_type, stated, current):
            leaf, rail = name_of(breach.path), breach.rail
            message = f"The guard rail {rail.name!r} at {rail.scope} refuses {leaf}: {breach.reason}."
            yield FieldError(f"{stated.pointer}{leaf}", "guard_rail_broken", message, rail.reason)

    def _breaches(
        self, resource_type: ResourceType, stated: Statement, current: Attributes | None
    ) -> Iterable[Breach]:
        """Return the changed values that a rail refuses, both now and before this transaction."""
        scope = stated.address.scope
        if (of_type := self.rails_by_type.get(resource_type.name)) is None:
            of_type = self.rails_by_type[resource_type.name] = self.rules.after.rails_of(resource_type.name)
        rails = [rail for rail in of_type if rail.scope.covers(scope)]
        if not rails:
            return []
        constant = [rail for rail in rails if rail.name not in self.changed_rails]
        broken = _by_path(constant, stated, resource_type)
        for rail in (rail for rail in rails if rail.name in self.changed_rails):
            earlier = self.rules.earlier_rail(rail.name)
            earlier_rails = [earlier] if earlier and earlier.scope.covers(scope) else []
            before = _by_path(earlier_rails, stated, resource_type)
            now = _by_path([rail], stated, resource_type)
            broken = {path: breach for path, breach in now.items() if path in before} | broken
        unchanged = unchanged_leaves(current, stated.attributes, resource_type.rule) if broken else ()
        return [breach for path, breach in broken.items() if path not in unchanged]


def _by_path(
    rails: Sequence[GuardRail], stated: Statement, resource_type: ResourceType
) -> dict[Path, Breach]:
    level = stated.address.scope.level
    return {breach.path: breach for breach in breaches(rails, level, stated.attributes, resource_type.rule)}
