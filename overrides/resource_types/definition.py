"""What a resource type is, and how attributes are checked against one. Pure."""

from __future__ import annotations

import difflib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError

from controlplane.errors import FieldError, InvalidAttributes
from overrides.merging import Attributes, MergeRule, key_of


@dataclass(frozen=True)
class ResourceType:
    """A kind of document that can be overridden.

    number: the value of Flyte's enum MatchableResource. document_key: the type's name in the overrides
    document (RFC 3749). schema: JSON Schema 2020-12 of a partial document. example: a legal one.
    """

    name: str
    number: int | None
    title: str
    meaning: str
    document_key: str
    rule: MergeRule
    schema: Mapping[str, Any]
    example: Mapping[str, Any] = field(default_factory=dict)

    @cached_property
    def _validator(self) -> Draft202012Validator:
        return Draft202012Validator(self.schema)

    def check(self, attributes: Attributes) -> None:
        """Raise InvalidAttributes with every error at once; pointers start at the request body."""
        found = [one for error in self._validator.iter_errors(attributes) for one in _field_errors(error)]
        found += self._twice_named(attributes)
        if found:
            found.sort(key=lambda error: error.pointer)
            raise InvalidAttributes(
                f"These are not attributes of {self.name}: {found[0].message}"
                + (f" And {len(found) - 1} more." if len(found) > 1 else ""),
                errors=found,
            )

    def _twice_named(self, attributes: Attributes) -> Iterator[FieldError]:
        """Two items of one name would make the answer depend on their order."""
        for path, key in self.rule.keyed_lists.items():
            items: Any = attributes
            for step in path:
                items = items.get(step) if isinstance(items, Mapping) else None
            seen: set[str | None] = {None}
            for index, item in enumerate(items if isinstance(items, list) else ()):
                name = key_of(item, key)
                if name in seen and name is not None:
                    where = "/".join(("/attributes", *path, str(index), key))
                    yield FieldError(where, "repeated_name", f"{key} {name!r} stands twice in the list.")
                seen.add(name)


def _field_errors(error: ValidationError) -> list[FieldError]:
    where = "".join(f"/{_escape(step)}" for step in ("attributes", *error.absolute_path))
    if error.validator == "additionalProperties":
        return _unknown_members(where, error)
    return [_field_error(where, error)]


def _field_error(where: str, error: ValidationError) -> FieldError:
    name = str(error.absolute_path[-1]) if error.absolute_path else "attributes"
    value = repr(error.instance)[:60]
    value_of_rule: Any = error.validator_value
    match error.validator:
        case "type":
            wanted = _kinds(value_of_rule)
            return FieldError(where, "wrong_type", f"{name} must be {wanted}, not {value}.")
        case "enum":
            allowed = tuple(word for word in value_of_rule if word is not None)
            message = f"{name} cannot be {value}. Use one of: {', '.join(allowed)}."
            return FieldError(where, "not_allowed", message, allowed=allowed)
        case "pattern":
            examples = error.schema.get("examples", [])  # type: ignore[union-attr]
            hint = f"Such as: {', '.join(examples)}." if examples else ""
            return FieldError(where, "malformed", f"{name} cannot be {value}.", hint)
        case "required":
            return FieldError(where, "required", f"{error.message}.")
        case _:
            return FieldError(where, str(error.validator), f"{name}: {error.message}."[:300])


def _unknown_members(where: str, error: ValidationError) -> list[FieldError]:
    assert isinstance(error.schema, Mapping)
    assert isinstance(error.instance, Mapping)
    known = list(error.schema.get("properties", ()))
    return [
        FieldError(f"{where}/{_escape(name)}", "unknown_field", _advice(name, known))
        for name in error.instance
        if name not in known
    ]


def _advice(unknown: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(unknown, known, n=1, cutoff=0.5)
    advice = f"Did you mean {nearest[0]!r}?" if nearest else f"Known: {', '.join(known)}."
    return f"There is no {unknown[:80]!r} here. {advice}"


def _escape(step: str | int) -> str:
    return str(step).replace("~", "~0").replace("/", "~1")


def _kinds(said: str | list[str]) -> str:
    words = {"object": "an object", "array": "a list", "integer": "an integer"}
    kinds = [said] if isinstance(said, str) else [kind for kind in said if kind != "null"]
    return " or ".join(words.get(kind, f"a {kind}") for kind in kinds)
