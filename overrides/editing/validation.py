"""Is what shall stand legal by itself: its level, its attributes, the guard rails over it? Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

from controlplane.errors import ControlplaneError, FieldError, InvalidAttributes, LevelNotAllowed, RailBroken
from overrides.field_managers import unchanged_leaves
from overrides.resolution.addresses import Statement
from overrides.resolution.leaves import Path, name_of
from overrides.resolution.merging import Attributes, canonical
from overrides.resolution.rails import Breach, GuardRail, breaches
from overrides.resource_types import ResourceType
from overrides.resource_types.catalogue import RuleChange
from overrides.resource_types.definition import invalid_attributes

_TOLD = 200
# What shall stand, and what stands there now.
Write = tuple[Statement, Attributes | None]
Wrong = tuple[ControlplaneError, list[FieldError]]


def check_stated(
    writes: Sequence[Write], rules: RuleChange, *, only_rails: bool = False, any_level: bool = False
) -> None:
    """Raise LevelNotAllowed, InvalidAttributes or RailBroken; `errors` has all that is wrong with any.

    A document that stands already as it is stated is not checked. Guard rails are about the values that a
    write changes: a value that stands already breaks none, and neither does one that arrives together with
    the rail, or with the limit, that it breaks.
    """
    checks = _Checks(rules, only_rails, any_level)
    wrong = [error for stated, standing in writes for error in checks.of(stated, standing)]
    if wrong:
        error = wrong[0][0]
        error.errors = tuple(one for _, errors in wrong for one in errors)[:_TOLD]
        raise error


@dataclass(slots=True)
class _Checks:
    rules: RuleChange
    only_rails: bool = False
    any_level: bool = False
    # Of ten thousand documents most say the same few things.
    known: dict[tuple[str, str], list[FieldError]] = field(default_factory=dict)
    changed_rails: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.changed_rails = frozenset(rail.name for rail in self.rules.changed_rails())

    def of(self, stated: Statement, standing: Attributes | None) -> Iterator[Wrong]:
        if standing is not None and canonical(standing) == canonical(stated.attributes):
            return
        one = self.rules.after.get(stated.address.resource_type)
        wrong = [] if self.only_rails else list(self._by_type(one, stated))
        yield from wrong
        if not any(isinstance(error, InvalidAttributes) for error, _ in wrong) and (
            broken := list(self._rails(one, stated, standing))
        ):
            yield RailBroken(broken[0].message, scope=str(stated.address.scope)), broken

    def _by_type(self, one: ResourceType, stated: Statement) -> Iterator[Wrong]:
        try:
            if not self.any_level:
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

    def _rails(
        self, one: ResourceType, stated: Statement, standing: Attributes | None
    ) -> Iterator[FieldError]:
        for breach in self._breaches(one, stated, standing):
            leaf, rail = name_of(breach.path), breach.rail
            message = f"The guard rail {rail.name!r} at {rail.scope} refuses {leaf}: {breach.because}."
            yield FieldError(f"{stated.pointer}{leaf}", "guard_rail_broken", message, rail.reason)

    def _breaches(
        self, one: ResourceType, stated: Statement, standing: Attributes | None
    ) -> Iterable[Breach]:
        """What the write changes and a rail refuses, by its limits now and before this transaction."""
        scope = stated.address.scope
        rails = [rail for rail in self.rules.after.rails_of(one.name) if rail.scope.covers(scope)]
        if not rails:
            return []
        found = _by_path([rail for rail in rails if rail.name not in self.changed_rails], stated, one)
        for rail in (rail for rail in rails if rail.name in self.changed_rails):
            earlier = self.rules.earlier_rail(rail.name)
            broken = _by_path([earlier] if earlier and earlier.scope.covers(scope) else [], stated, one)
            found = {p: it for p, it in _by_path([rail], stated, one).items() if p in broken} | found
        unchanged = unchanged_leaves(standing, stated.attributes, one.rule) if found else ()
        return [breach for path, breach in found.items() if path not in unchanged]


def _by_path(rails: Sequence[GuardRail], stated: Statement, one: ResourceType) -> dict[Path, Breach]:
    level = stated.address.scope.level
    return {breach.path: breach for breach in breaches(rails, level, stated.attributes, one.rule)}
