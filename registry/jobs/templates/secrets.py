"""Find templates that can read a secret, before any run. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from registry.jobs.templates.nodes import (
    Body,
    Call,
    Chain,
    Expression,
    Field,
    If,
    Literal,
    Output,
    Pipeline,
    Range,
    Template,
    Variable,
    With,
)

_SECRET = "secret"  # noqa: S105 - the name of the object with all secrets


def can_read_secret(template: Template) -> bool:
    """True if any branch names the object of secrets. What one run really reads is in `Rendered.reads`."""
    return any(_names_secret(part) for pipeline in _pipelines(template.body) for part in _parts(pipeline))


def _pipelines(body: Body) -> Iterator[Pipeline]:
    for node in body:
        match node:
            case Output(pipeline):
                yield pipeline
            case With(pipeline, inner, otherwise) | Range(pipeline, inner, otherwise):
                yield pipeline
                yield from _pipelines((*inner, *otherwise))
            case If(branches, otherwise):
                yield from (pipeline for pipeline, _ in branches)
                yield from _pipelines(tuple(inner for _, block in branches for inner in block))
                yield from _pipelines(otherwise)


def _parts(expression: Expression) -> Iterator[Expression]:
    yield expression
    match expression:
        case Pipeline(first, calls):
            for part in (first, *calls):
                yield from _parts(part)
        case Call(_, arguments):
            for argument in arguments:
                yield from _parts(argument)
        case Chain(pipeline):
            yield from _parts(pipeline)


def _names_secret(expression: Expression) -> bool:
    match expression:
        case Field(names) | Variable(_, names) | Chain(_, names):
            return _SECRET in names
        case Literal(value):
            return value == _SECRET
    return False
