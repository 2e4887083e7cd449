"""Convert the validator's errors into field errors with pointer, code, message and hint. Pure.

For alternatives (`anyOf`, `oneOf`) the errors are those of the closest alternative, so that an error deep in
a document has its own pointer, and "or null" is not mentioned.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controlplane.errors import FieldError
from controlplane.formats.json_schema import ValidationError
from overrides.resolution.leaves import escape
from overrides.resource_types.template_variables import VARIABLES, template_problem

_MAX_SHOWN = 60
_MAX_MESSAGE = 300
_KINDS = {"object": "an object", "array": "a list", "integer": "an integer", "null": "null"}
_LIMITS = {
    "minimum": "must be at least {}",
    "maximum": "must be at most {}",
    "exclusiveMinimum": "must be more than {}",
    "exclusiveMaximum": "must be less than {}",
    "multipleOf": "must be a multiple of {}",
    "minLength": "must have at least {} characters",
    "maxLength": "must have at most {} characters",
    "minItems": "must have at least {} items",
    "maxItems": "must have at most {} items",
    "minProperties": "must have at least {} members",
    "maxProperties": "must have at most {} members",
}
_MESSAGES = {
    "uniqueItems": "contains duplicate items",
    "contains": "has too few or too many items that match `contains`",
    "unevaluatedItems": "has more items than the schema allows",
    # Without the value: schemas refuse so what looks like a secret.
    "not": "has a value that its resource type excludes",
    "oneOf": "matches more than one of the schema's alternatives",
}


@dataclass(frozen=True, slots=True)
class Diagnostics:
    """The schema and the document that was validated. pointer: the document's location in the request."""

    schema: Mapping[str, Any]
    document: Any
    pointer: str

    def of(self, error: ValidationError) -> Iterator[FieldError]:
        """Yield the field errors for one error of the validator."""
        keyword = error.kind.name
        if keyword in ("anyOf", "oneOf") and hasattr(error.kind, "context"):
            yield from self._alternatives(error)
        elif keyword in ("additionalProperties", "unevaluatedProperties"):
            yield from self._unknown_members(error, error.kind.unexpected)  # type: ignore[attr-defined]
        elif keyword == "falseSchema" and error.schema_path[-1:] == ["additionalProperties"]:
            yield from self._unknown_members(error, list(_at(self.document, error.instance_path)))
        elif keyword == "propertyNames":
            yield self._bad_name(error, error.kind.error)  # type: ignore[attr-defined]
        else:
            yield self._single(error)

    def _single(self, error: ValidationError) -> FieldError:
        keyword, value = error.kind.name, error.kind.value
        if keyword in ("enum", "const"):
            return self._not_allowed(error, value if keyword == "enum" else [value])
        code, message = self._reason(error)
        hint = _quoted(value, error.instance) if keyword == "type" else self._hint(error)
        return FieldError(self._where(error), code, message[:_MAX_MESSAGE], hint)

    def _reason(self, error: ValidationError) -> tuple[str, str]:
        """Return code and message."""
        keyword, value = error.kind.name, error.kind.value
        name, value_text = self._name(error), show_json(error.instance)
        if keyword in _LIMITS:
            return keyword, f"{name} {_LIMITS[keyword].format(value)}."
        match keyword:
            case "type":
                return "wrong_type", f"{name} must be {_kinds(value)}, not {value_text}."
            case "pattern":
                reason = template_problem(self._schema_of(error).get(VARIABLES), error.instance)
                return "malformed", f"{name} cannot be {value_text}. {reason}".rstrip()
            case "required":
                return "required", f"{value} is required."
            case "falseSchema":
                return "not_allowed", f"{name} is not allowed here."
            case _:
                return keyword, f"{name} {_MESSAGES.get(keyword, f'does not satisfy {keyword}')}."

    def _alternatives(self, error: ValidationError) -> Iterator[FieldError]:
        context: Sequence[Sequence[ValidationError]] = error.kind.context  # type: ignore[attr-defined]
        depth = len(error.instance_path)
        # First the alternatives of the value's own type, then those whose constants match.
        same_type = [branch for branch in context if not _has_error(branch, depth, ("type",))]
        matching = [branch for branch in same_type if not _has_error(branch, depth + 1, ("const", "enum"))]
        branches = matching or same_type
        if not branches:
            yield self._no_type(error, context)
        elif constants := _constants(branches, depth):
            yield self._not_allowed(error, constants)
        elif all(not branch for branch in branches):  # oneOf: more than one matches
            yield FieldError(
                self._where(error), error.kind.name, f"{self._name(error)}: {error.message}."[:300]
            )
        else:
            closest = min(branches, key=len)
            for inner_error in closest:
                yield from self.of(inner_error)

    def _no_type(self, error: ValidationError, context: Sequence[Sequence[ValidationError]]) -> FieldError:
        depth = len(error.instance_path)
        expected = [
            inner_error.kind.value
            for branch in context
            for inner_error in branch
            if _is_of(inner_error, depth, ("type",))
        ]
        kinds = list(dict.fromkeys(kind for value in expected for kind in _listed(value)))
        message = f"{self._name(error)} must be {_kinds(kinds)}, not {show_json(error.instance)}."
        return FieldError(self._where(error), "wrong_type", message, _quoted(kinds, error.instance))

    def _not_allowed(self, error: ValidationError, constants: Sequence[Any]) -> FieldError:
        allowed = tuple(
            constant if isinstance(constant, str) else show_json(constant)
            for constant in constants
            if constant is not None
        )
        message = (
            f"{self._name(error)} cannot be {show_json(error.instance)}. Use one of {', '.join(allowed)}."
        )
        schema = self._schema_of(error)
        alternatives = [schema, *schema.get("anyOf", ())]
        hint = next(
            (str(each["x-hint"]) for each in alternatives if isinstance(each, dict) and "x-hint" in each), ""
        )
        return FieldError(self._where(error), "not_allowed", message[:_MAX_MESSAGE], hint, allowed)

    def _unknown_members(self, error: ValidationError, names: Sequence[str]) -> Iterator[FieldError]:
        names_here = list(_at(self._schema_of(error), ["properties"]))
        for name in names:
            location = f"{self._where(error)}/{escape(name)}"
            yield FieldError(location, "unknown_field", _advice(name, names_here))

    def _bad_name(self, error: ValidationError, reason: ValidationError) -> FieldError:
        name = str(reason.instance)
        location = f"{self._where(error)}/{escape(name)}"
        problem = "is reserved" if reason.kind.name == "not" else "is not a valid name here"
        return FieldError(location, "malformed_name", f"{name[:80]!r} {problem}.", self._hint(error))

    def _where(self, error: ValidationError) -> str:
        return self.pointer + "".join(f"/{escape(str(step))}" for step in error.instance_path)

    def _name(self, error: ValidationError) -> str:
        if error.instance_path:
            last = error.instance_path[-1]
            return last if isinstance(last, str) else f"Item {last}"
        return self.pointer.rpartition("/")[2] or "The document"

    def _hint(self, error: ValidationError) -> str:
        schema = self._schema_of(error)
        examples = schema.get("examples")
        example_list = ", ".join(map(str, examples)) if isinstance(examples, list) else ""
        return str(schema.get("x-hint", "")) or (f"Such as: {example_list}." if example_list else "")

    def _schema_of(self, error: ValidationError) -> Mapping[str, Any]:
        """Return the schema that has the keyword; empty if it cannot be found."""
        return _at(self.schema, error.schema_path[:-1])


def show_json(value: Any) -> str:
    """Return the value as JSON, shortened."""
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _MAX_SHOWN else f"{text[: _MAX_SHOWN - 1]}…"


def _at(document: Any, path: Sequence[str | int]) -> Mapping[str, Any]:
    """Return the object at the path; empty if there is none."""
    for step in path:
        if isinstance(document, Mapping):
            document = document.get(str(step))
        else:
            document = document[step] if isinstance(document, list) and isinstance(step, int) else None
    return document if isinstance(document, Mapping) else {}


def _is_of(error: ValidationError, depth: int, keywords: tuple[str, ...]) -> bool:
    return error.kind.name in keywords and len(error.instance_path) == depth


def _has_error(branch: Sequence[ValidationError], depth: int, keywords: tuple[str, ...]) -> bool:
    return any(_is_of(error, depth, keywords) for error in branch)


def _constants(branches: Sequence[Sequence[ValidationError]], depth: int) -> list[Any]:
    """Return the allowed values if all alternatives are constants, or nothing."""
    if not all(len(branch) == 1 and _is_of(branch[0], depth, ("const", "enum")) for branch in branches):
        return []
    errors = [branch[0] for branch in branches]
    return [
        word
        for error in errors
        for word in (error.kind.value if error.kind.name == "enum" else [error.kind.value])
    ]


def _advice(unknown: str, names: list[str]) -> str:
    nearest = difflib.get_close_matches(unknown[:80], names, n=1, cutoff=0.5)
    name_list = ", ".join(names)[:_MAX_MESSAGE]
    advice = f"Did you mean {nearest[0]!r}?" if nearest else f"Use one of {name_list}."
    return f"Unknown field {unknown[:80]!r}. {advice}" if names else f"Unknown field {unknown[:80]!r}."


def _quoted(kinds: str | Sequence[str], value: Any) -> str:
    """Return the hint to quote the value: YAML and JSON do not read `1` and `true` as text."""
    is_plain = isinstance(value, bool | int | float)
    return f'Quote it: "{show_json(value)}".' if is_plain and "string" in _listed(kinds) else ""


def _listed(kinds: str | Sequence[str]) -> list[str]:
    return [kinds] if isinstance(kinds, str) else list(kinds)


def _kinds(kinds: str | Sequence[str]) -> str:
    listed = _listed(kinds)
    words = [kind for kind in listed if kind != "null"] or listed
    return " or ".join(_KINDS.get(kind, f"a {kind}") for kind in words)
