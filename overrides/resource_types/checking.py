"""Check a document against a JSON Schema (2020-12), and say all that is wrong in words. Pure.

Two validators of one schema: a fast one (jsonschema-rs, 7 µs) that says yes or no, and a slow one
(jsonschema, 66 µs) that is asked only after a no, for where and why.
"""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import jsonschema_rs
from jsonschema import Draft202012Validator
from jsonschema.exceptions import ValidationError
from jsonschema.validators import extend

from controlplane.errors import FieldError
from overrides.leaves import escape


class Checker:
    """One compiled schema."""

    def __init__(self, schema: Mapping[str, Any]) -> None:
        self._fast = jsonschema_rs.Draft202012Validator(json.dumps(schema))
        self._slow = _Strict(schema)

    def errors(self, document: Any, pointer: str) -> list[FieldError]:
        """Everything that is wrong; `pointer` is where the document stands in the request's body."""
        if self._fast.is_valid(document):
            return []
        found = [one for error in self._slow.iter_errors(document) for one in _field_errors(pointer, error)]
        return found or [FieldError(pointer, "invalid", "This does not fit its schema.")]


@lru_cache(maxsize=512)
def _compiled(pattern: str) -> re.Pattern[str]:
    # Python's `$` also matches before a last line break; ECMA's, which JSON Schema means, does not.
    ends = pattern.endswith("$") and not pattern.endswith("\\$")
    return re.compile(pattern[:-1] + r"\Z" if ends else pattern)


def _pattern(validator: Any, pattern: str, instance: Any, schema: Any) -> Iterator[ValidationError]:
    if isinstance(instance, str) and not _compiled(pattern).search(instance):
        yield ValidationError(f"{instance!r} does not match {pattern!r}")


_Strict = extend(Draft202012Validator, {"pattern": _pattern})  # type: ignore[no-untyped-call]


def _field_errors(pointer: str, error: ValidationError) -> list[FieldError]:
    where = pointer + "".join(f"/{escape(str(step))}" for step in error.absolute_path)
    if error.validator == "additionalProperties":
        return _unknown_members(where, error)
    if "propertyNames" in error.absolute_schema_path:
        return [_bad_name(f"{where}/{escape(str(error.instance))}", error)]
    return [_field_error(where, error)]


def _field_error(where: str, error: ValidationError) -> FieldError:
    name = str(error.absolute_path[-1]) if error.absolute_path else where.rpartition("/")[2] or "It"
    value = repr(error.instance)[:60]
    value_of_rule: Any = error.validator_value
    match error.validator:
        case "type":
            return FieldError(where, "wrong_type", f"{name} must be {_kinds(value_of_rule)}, not {value}.")
        case "enum":
            allowed = tuple(str(word) for word in value_of_rule if word is not None)
            message = f"{name} cannot be {value}. Use one of: {', '.join(allowed)}."
            return FieldError(where, "not_allowed", message, allowed=allowed)
        case "pattern":
            return FieldError(where, "malformed", f"{name} cannot be {value}.", _hint(error))
        case "required":
            return FieldError(where, "required", f"{error.message}.")
        case _:
            return FieldError(where, str(error.validator), f"{name}: {error.message}."[:300])


def _bad_name(where: str, error: ValidationError) -> FieldError:
    message = f"{str(error.instance)[:80]!r} cannot be a name here."
    if error.validator == "not":
        message = f"{str(error.instance)[:80]!r} is reserved."
    return FieldError(where, "malformed_name", message, _hint(error))


def _hint(error: ValidationError) -> str:
    schema = error.schema if isinstance(error.schema, Mapping) else {}
    examples = schema.get("examples", [])
    said = str(schema.get("x-hint", ""))
    return said or (f"Such as: {', '.join(map(str, examples))}." if examples else "")


def _unknown_members(where: str, error: ValidationError) -> list[FieldError]:
    assert isinstance(error.schema, Mapping)
    assert isinstance(error.instance, Mapping)
    known = list(error.schema.get("properties", ()))
    patterns = [_compiled(pattern) for pattern in error.schema.get("patternProperties", ())]
    return [
        FieldError(f"{where}/{escape(name)}", "unknown_field", _advice(name, known))
        for name in error.instance
        if name not in known and not any(pattern.search(name) for pattern in patterns)
    ]


def _advice(unknown: str, known: list[str]) -> str:
    nearest = difflib.get_close_matches(unknown, known, n=1, cutoff=0.5)
    advice = f"Did you mean {nearest[0]!r}?" if nearest else f"Known: {', '.join(known)}."
    return f"There is no {unknown[:80]!r} here. {advice}"


def _kinds(said: str | list[str]) -> str:
    words = {"object": "an object", "array": "a list", "integer": "an integer"}
    kinds = [said] if isinstance(said, str) else [kind for kind in said if kind != "null"]
    return " or ".join(words.get(kind, f"a {kind}") for kind in kinds)
