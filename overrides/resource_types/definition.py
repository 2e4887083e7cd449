"""Resource types, and the validation of attributes. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from controlplane.errors import FieldError, InvalidAttributes, LevelNotAllowed
from controlplane.scopes import Level, Scope
from overrides.resolution.leaves import escape
from overrides.resolution.merging import Attributes, MergeRule, SchemaPath, key_of
from overrides.resource_types.casing import Spellings, camel_of, snake_of
from overrides.resource_types.validator import DocumentValidator

Check = Callable[[Attributes], Iterator[FieldError]]
Reader = Callable[[Attributes], Attributes]


@dataclass(frozen=True, slots=True)
class Reference:
    """Values of a resource type, at path, that should be among those at `to` of the declaring type."""

    resource_type: str
    path: SchemaPath
    to: SchemaPath


@dataclass(frozen=True)
class ResourceType:
    """A kind of document that can be overridden.

    number: the value of Flyte's enum MatchableResource. document_key: the type's name in the overrides
    document (RFC 3749). schema: JSON Schema 2020-12 of a partial document, as it is set at one scope.
    resolved_schema: of effective attributes, if it is stricter. example: valid partial attributes.
    checks: rules between fields, for partial and resolved documents; their pointers start at the document.
    not_at: levels at which the type cannot be set, with the reason. defaults: the type's platform defaults.
    hints: for forms. references: values of other types that should be among its own. reader: converts RFC
    3749's spellings into those of the schema.
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
    references: tuple[Reference, ...] = ()
    reader: Reader | None = None
    version: int = 0

    @property
    def is_built_in(self) -> bool:
        return self.version == 0

    @property
    def levels(self) -> list[Level]:
        return [level for level in Level if level not in self.not_at]

    @property
    def can_resolve_invalid(self) -> bool:
        """True if valid partial documents can merge into an invalid one."""
        return bool(self.checks or self.resolved_schema is not None)

    @cached_property
    def _partial(self) -> DocumentValidator:
        return DocumentValidator(self.schema, trusted=self.is_built_in)

    @cached_property
    def _whole(self) -> DocumentValidator:
        return DocumentValidator(self.resolved_schema or {}, bounded=False)

    @cached_property
    def _spellings(self) -> Spellings:
        return {}

    def read(self, attributes: Attributes, pointer: str = "/attributes") -> Attributes:
        """Return attributes in the stored spelling: snake_case, as the type's schema has them.

        Raises InvalidAttributes if a member appears in both casings.
        """
        snake: Attributes = snake_of(attributes, self.schema, pointer, self._spellings)
        return snake

    def read_document(self, attributes: Attributes, pointer: str) -> Attributes:
        """Read an entry of an overrides document, for which RFC 3749 allows further spellings."""
        return self.read(self.reader(attributes) if self.reader else attributes, pointer)

    def show(self, attributes: Attributes) -> Attributes:
        """Return stored attributes in the spelling of the overrides document: camelCase."""
        camel: Attributes = camel_of(attributes, self.schema)
        return camel

    def errors(self, attributes: Attributes, pointer: str = "/attributes") -> list[FieldError]:
        """Return all errors of a partial document, by pointer."""
        errors = self._partial.errors(attributes, pointer)
        errors += self._repeated_names(attributes, pointer)
        if not errors:
            errors += self._between_fields(attributes, pointer)
        return sorted(errors, key=lambda error: error.pointer)

    def resolved_errors(self, attributes: Attributes, pointer: str = "") -> list[FieldError]:
        """Return all errors of a resolved document."""
        errors = self._whole.errors(attributes, pointer) if self.resolved_schema is not None else []
        return [*errors, *self._between_fields(attributes, pointer)]

    def check(self, attributes: Attributes) -> None:
        """Raise InvalidAttributes with every error at once; pointers start at the request body."""
        if errors := self.errors(attributes):
            raise invalid_attributes(self.name, errors)

    def check_level(self, scope: Scope) -> None:
        """Raise LevelNotAllowed, with the reason, if the type cannot be set at the scope's level."""
        if reason := self.not_at.get(scope.level):
            raise LevelNotAllowed(
                f"{self.name} cannot be set at the level {scope.level.name.lower()}: {reason}",
                allowed=[level.name.lower() for level in self.levels],
            )

    def _between_fields(self, attributes: Attributes, pointer: str) -> list[FieldError]:
        errors = [error for check in self.checks for error in check(attributes)]
        return [
            FieldError(f"{pointer}{error.pointer}", error.code, error.message, error.hint, error.allowed)
            for error in errors
        ]

    def _repeated_names(self, attributes: Attributes, pointer: str) -> Iterator[FieldError]:
        """Yield an error for repeated names: with them, the result would depend on the order of items."""
        for path, key in self.rule.keyed_lists.items():
            items: Any = attributes
            for step in path:
                items = items.get(step) if isinstance(items, Mapping) else None
            names: set[str | None] = {None}
            for index, item in enumerate(items if isinstance(items, list) else ()):
                name = key_of(item, key)
                if name in names and name is not None:
                    location = "/".join((pointer, *map(escape, path), str(index), key))
                    yield FieldError(location, "repeated_name", f"{key} {name!r} appears twice in the list.")
                names.add(name)


def invalid_attributes(name: str, errors: list[FieldError]) -> InvalidAttributes:
    more = f" And {len(errors) - 1} more." if len(errors) > 1 else ""
    return InvalidAttributes(f"Invalid attributes for {name}: {errors[0].message}{more}", errors=errors)
