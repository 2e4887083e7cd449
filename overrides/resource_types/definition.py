"""What a resource type is, and how attributes are checked against one. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from controlplane.errors import FieldError, InvalidAttributes, LevelNotAllowed
from controlplane.scopes import Level, Scope
from overrides.resolution.leaves import escape
from overrides.resolution.merging import Attributes, MergeRule, key_of
from overrides.resource_types.casing import camel_of, snake_of
from overrides.resource_types.validator import Checker

Check = Callable[[Attributes], Iterator[FieldError]]
Reader = Callable[[Attributes], Attributes]


@dataclass(frozen=True)
class ResourceType:
    """A kind of document that can be overridden.

    number: the value of Flyte's enum MatchableResource. document_key: the type's name in the overrides
    document (RFC 3749). schema: JSON Schema 2020-12 of a partial document, as it is set at one scope.
    resolved_schema: of what applies, where that must be more than the partial one. example: a legal one.
    checks: rules between fields, for partial and resolved documents; their pointers start at the document.
    not_at: levels at which the type may not be set, with the reason. defaults: what applies where nothing
    is set. hints: for forms. reader: turns RFC 3749's spellings into the schema's.
    """

    name: str
    number: int | None
    title: str
    meaning: str
    document_key: str
    rule: MergeRule
    schema: Mapping[str, Any]
    example: Mapping[str, Any] = field(default_factory=dict)
    resolved_schema: Mapping[str, Any] | None = None
    checks: tuple[Check, ...] = ()
    not_at: Mapping[Level, str] = field(default_factory=dict)
    defaults: Attributes = field(default_factory=dict)
    hints: Mapping[str, Any] = field(default_factory=dict)
    reader: Reader | None = None
    version: int = 0

    @property
    def is_built_in(self) -> bool:
        return self.version == 0

    @property
    def levels(self) -> list[Level]:
        return [level for level in Level if level not in self.not_at]

    @property
    def may_resolve_badly(self) -> bool:
        """True if legal parts can add up to something illegal."""
        return bool(self.checks or self.resolved_schema is not None)

    @cached_property
    def _partial(self) -> Checker:
        return Checker(self.schema, trusted=self.is_built_in)

    @cached_property
    def _whole(self) -> Checker:
        return Checker(self.resolved_schema or {}, bounded=False)

    def read(self, attributes: Attributes, pointer: str = "/attributes") -> Attributes:
        """Return attributes as they are stored: snake_case, in the type's own spelling.

        Raises InvalidAttributes if one member is given in both casings.
        """
        snake: Attributes = snake_of(attributes, self.schema, pointer)
        return snake

    def read_document(self, attributes: Attributes, pointer: str) -> Attributes:
        """The same for an entry of an overrides document, whose RFC knows further spellings."""
        return self.read(self.reader(attributes) if self.reader else attributes, pointer)

    def show(self, attributes: Attributes) -> Attributes:
        """Return stored attributes as the overrides document spells them: camelCase."""
        camel: Attributes = camel_of(attributes, self.schema)
        return camel

    def errors(self, attributes: Attributes, pointer: str = "/attributes") -> list[FieldError]:
        """Everything that is wrong with a partial document, by pointer."""
        found = self._partial.errors(attributes, pointer)
        found += self._twice_named(attributes, pointer)
        if not found:
            found += self._between_fields(attributes, pointer)
        return sorted(found, key=lambda error: error.pointer)

    def resolved_errors(self, attributes: Attributes, pointer: str = "") -> list[FieldError]:
        """Everything that is wrong with a resolved document."""
        found = self._whole.errors(attributes, pointer) if self.resolved_schema is not None else []
        return [*found, *self._between_fields(attributes, pointer)]

    def check(self, attributes: Attributes) -> None:
        """Raise InvalidAttributes with every error at once; pointers start at the request body."""
        if found := self.errors(attributes):
            raise invalid_attributes(self.name, found)

    def check_level(self, scope: Scope) -> None:
        """Raise LevelNotAllowed, with the reason, if the type may not be set at the scope's level."""
        if reason := self.not_at.get(scope.level):
            raise LevelNotAllowed(
                f"{self.name} cannot be set at the level {scope.level.name.lower()}: {reason}",
                allowed=[level.name.lower() for level in self.levels],
            )

    def _between_fields(self, attributes: Attributes, pointer: str) -> list[FieldError]:
        found = [error for check in self.checks for error in check(attributes)]
        return [
            FieldError(f"{pointer}{one.pointer}", one.code, one.message, one.hint, one.allowed)
            for one in found
        ]

    def _twice_named(self, attributes: Attributes, pointer: str) -> Iterator[FieldError]:
        """Two items of one name would make the answer depend on their order."""
        for path, key in self.rule.keyed_lists.items():
            items: Any = attributes
            for step in path:
                items = items.get(step) if isinstance(items, Mapping) else None
            seen: set[str | None] = {None}
            for index, item in enumerate(items if isinstance(items, list) else ()):
                name = key_of(item, key)
                if name in seen and name is not None:
                    where = "/".join((pointer, *map(escape, path), str(index), key))
                    yield FieldError(where, "repeated_name", f"{key} {name!r} stands twice in the list.")
                seen.add(name)


def invalid_attributes(name: str, found: list[FieldError]) -> InvalidAttributes:
    more = f" And {len(found) - 1} more." if len(found) > 1 else ""
    return InvalidAttributes(f"These are not attributes of {name}: {found[0].message}{more}", errors=found)
