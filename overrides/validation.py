"""Is what shall stand legal by itself: its level, its attributes, the guard rails over it? Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace

from controlplane.errors import ControlplaneError, FieldError, InvalidAttributes, LevelNotAllowed, RailBroken
from overrides.addresses import Statement
from overrides.catalogue import Catalogue
from overrides.leaves import name_of
from overrides.merging import canonical
from overrides.rails import breaches
from overrides.resource_types import ResourceType
from overrides.resource_types.definition import invalid_attributes

_TOLD = 200
Wrong = tuple[ControlplaneError, list[FieldError]]


def check_stated(statements: Sequence[Statement], catalogue: Catalogue, *, only_rails: bool = False) -> None:
    """Raise LevelNotAllowed, InvalidAttributes or RailBroken; `errors` has all that is wrong with any."""
    checks = _Checks(catalogue, only_rails)
    wrong = [one for stated in statements for one in checks.of(stated)]
    if wrong:
        error = wrong[0][0]
        error.errors = tuple(one for _, errors in wrong for one in errors)[:_TOLD]
        raise error


@dataclass(slots=True)
class _Checks:
    catalogue: Catalogue
    only_rails: bool = False
    # Of ten thousand documents most say the same few things.
    known: dict[tuple[str, str], list[FieldError]] = field(default_factory=dict)

    def of(self, stated: Statement) -> Iterator[Wrong]:
        one = self.catalogue.get(stated.address.resource_type)
        wrong = [] if self.only_rails else list(self._by_type(one, stated))
        yield from wrong
        if not any(isinstance(error, InvalidAttributes) for error, _ in wrong) and (
            broken := list(self._rails(one, stated))
        ):
            yield RailBroken(broken[0].message, scope=str(stated.address.scope)), broken

    def _by_type(self, one: ResourceType, stated: Statement) -> Iterator[Wrong]:
        try:
            one.check_level(stated.address.scope)
        except LevelNotAllowed as error:
            yield error, [FieldError(stated.pointer, error.code, error.detail)]
        if errors := self._attributes(one, stated):
            yield invalid_attributes(str(stated.address), errors), errors

    def _attributes(self, one: ResourceType, stated: Statement) -> list[FieldError]:
        key = (one.name, canonical(stated.attributes))
        if key not in self.known:
            self.known[key] = one.errors(stated.attributes, "")
        return [replace(error, pointer=f"{stated.pointer}{error.pointer}") for error in self.known[key]]

    def _rails(self, one: ResourceType, stated: Statement) -> Iterator[FieldError]:
        scope = stated.address.scope
        rails = [rail for rail in self.catalogue.rails_of(one.name) if rail.scope.covers(scope)]
        for breach in breaches(rails, scope.level, stated.attributes, one.rule) if rails else ():
            leaf, rail = name_of(breach.path), breach.rail
            message = f"The guard rail {rail.name!r} at {rail.scope} refuses {leaf}: {breach.because}."
            yield FieldError(f"{stated.pointer}{leaf}", "guard_rail_broken", message, rail.reason)
