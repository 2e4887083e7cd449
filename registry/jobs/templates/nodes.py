"""The syntax tree of a template. Pure. `at` is an offset in the source, for errors."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Literal:
    value: str | int | bool


@dataclass(frozen=True, slots=True)
class Field:
    """`.a.b` below the current value; without names, the current value itself."""

    names: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Variable:
    """`$x.a.b`. Slot 0 is `$`, the data of the template."""

    slot: int
    names: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Call:
    function: str
    arguments: tuple[Expression, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Pipeline:
    """`first | calls...`, whose value is also stored in the slots of declared variables."""

    first: Expression
    calls: tuple[Call, ...]
    slots: tuple[int, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Chain:
    """`(pipeline).a.b`."""

    pipeline: Pipeline
    names: tuple[str, ...]
    at: int


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Output:
    pipeline: Pipeline


@dataclass(frozen=True, slots=True)
class If:
    """Branches of `if` and `else if`, in order, and the body of `else`."""

    branches: tuple[tuple[Pipeline, Body], ...]
    otherwise: Body


@dataclass(frozen=True, slots=True)
class With:
    pipeline: Pipeline
    body: Body
    otherwise: Body


@dataclass(frozen=True, slots=True)
class Range:
    pipeline: Pipeline
    body: Body
    otherwise: Body


Expression = Literal | Field | Variable | Call | Pipeline | Chain
Node = Text | Output | If | With | Range
Body = tuple[Node, ...]


@dataclass(frozen=True, slots=True)
class Template:
    """A parsed template. slots: how many variables it has."""

    source: str
    body: Body
    slots: int
