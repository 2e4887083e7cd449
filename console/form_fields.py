"""Inputs of forms, with what was typed and the errors beside them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from console.forms import split_words
from controlplane.errors import ControlplaneError, FieldError, NameTaken, UnknownTeam

# Parts of the API's body that a form shows as fields of its own.
_OUTER_PARTS = ("when", "filter", "config", "credentials", "quiet_hours")
# Parts that a form can have as one text.
_WHOLE_PARTS = {"config": "settings", "credentials": "secrets"}
_WRITE_ONLY = ("password", "secrets")
# Errors that are about one field without naming it.
_POINTERS: dict[type[ControlplaneError], str] = {NameTaken: "/name", UnknownTeam: "/team"}


@dataclass(frozen=True, slots=True)
class Input:
    """An input of a form. kind: an HTML type, or `textarea`, `secrets`, `select`, `checks`.

    choices: values with labels. attributes: of the HTML element. `checks` has several values.
    """

    name: str
    label: str
    kind: str = "text"
    hint: str = ""
    choices: tuple[tuple[str, str], ...] = ()
    is_wide: bool = False
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class FilledInput:
    """An input with its value and errors. Secrets have no value: they are never sent to a browser."""

    input: Input
    value: str = ""
    errors: tuple[str, ...] = ()

    @property
    def values(self) -> list[str]:
        return split_words(self.value)


@dataclass(frozen=True, slots=True)
class FieldErrors:
    """Errors by the name of their input, and those that belong to no input."""

    by_name: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    others: tuple[str, ...] = ()


def fill(
    inputs: Iterable[Input], form: Mapping[str, str], errors: Mapping[str, tuple[str, ...]]
) -> list[FilledInput]:
    """Return the inputs with their values and errors."""
    return [
        FilledInput(
            item, "" if item.kind in _WRITE_ONLY else form.get(item.name, ""), errors.get(item.name, ())
        )
        for item in inputs
    ]


def errors_by_name(error: ControlplaneError, names: Iterable[str]) -> FieldErrors:
    """Return where a form shows an error of the API. names: of its inputs."""
    known, by_name, others = set(names), dict[str, list[str]](), list[str]()
    for single in _single_errors(error):
        name = input_name(single.pointer, known)
        (by_name.setdefault(name, []) if name else others).append(single.message)
    placed = {name: tuple(dict.fromkeys(messages)) for name, messages in by_name.items()}
    return FieldErrors(placed, tuple(dict.fromkeys(others)))


def input_name(pointer: str, names: Iterable[str]) -> str:
    """Return the input that a JSON pointer means; empty if the form has none."""
    segments = pointer.strip("/").split("/")
    candidates = ["_".join(segments[:2]), segments[0]]
    if segments[0] in _OUTER_PARTS and len(segments) > 1:
        candidates.insert(1, segments[1])
    candidates.append(_WHOLE_PARTS.get(segments[0], ""))
    return next((name for name in candidates if name in names), "")


def _single_errors(error: ControlplaneError) -> Sequence[FieldError]:
    for kind, pointer in _POINTERS.items():
        if isinstance(error, kind):
            return [FieldError(pointer, error.code, error.detail)]
    return error.errors or [FieldError("", error.code, error.detail)]
