"""Parse pipelines: `$x := .proj.NAME | replace "a" "b"`. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from registry.jobs.templates.errors import SUPPORTED, TemplateError
from registry.jobs.templates.functions import FUNCTIONS
from registry.jobs.templates.limits import Limits
from registry.jobs.templates.literals import read_literal
from registry.jobs.templates.nodes import Call, Chain, Expression, Field, Literal, Pipeline, Variable
from registry.jobs.templates.tokens import Kind, Token

_OPERANDS = frozenset(
    {Kind.FIELD, Kind.DOT, Kind.VARIABLE, Kind.NAME, Kind.NUMBER, Kind.STRING, Kind.RAW_STRING, Kind.LEFT}
)


class PipelineParser:
    """Reads the tokens of actions. Each declared variable gets a slot of its own."""

    def __init__(self, source: str, tokens: Iterator[Token], limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.slot_count = 1
        self._tokens = tokens
        self._ahead: list[Token] = []
        self._depth = 0
        self._slots: dict[str, list[int]] = {"$": [0]}
        self._declared: list[str] = []

    def next_or_none(self) -> Token | None:
        return self._ahead.pop() if self._ahead else next(self._tokens, None)

    def next(self) -> Token:
        token = self.next_or_none()
        assert token is not None  # an action ends with its closing token
        return token

    def peek(self) -> Token:
        token = self.next()
        self._ahead.append(token)
        return token

    def open_scope(self) -> int:
        return len(self._declared)

    def close_scope(self, mark: int) -> None:
        while len(self._declared) > mark:
            self._slots[self._declared.pop()].pop()

    def parse_action(self, *, names_index: bool = False) -> Pipeline:
        """Parse up to the end of the action. names_index: `$i, $x :=` is allowed."""
        names = self._declarations(2 if names_index else 1)
        pipeline = self._pipeline(Kind.CLOSE)
        slots = tuple(self._declare(name) for name in names)
        return replace(pipeline, slots=slots)

    def _declarations(self, most: int) -> list[str]:
        first = self.peek()
        if first.kind is not Kind.VARIABLE:
            return []
        self.next()
        if self.peek().kind not in (Kind.DECLARE, Kind.COMMA):
            self._ahead.append(first)
            return []
        names = [self._new_name(first)]
        while (token := self.next()).kind is Kind.COMMA:
            if len(names) == most:
                raise self.error("Only range declares two variables: {{range $i, $x := list}}.", token)
            names.append(self._new_name(self.next()))
        if token.kind is not Kind.DECLARE:
            raise self.error("Expected := after the variables.", token)
        return names

    def _new_name(self, token: Token) -> str:
        if token.kind is not Kind.VARIABLE or "." in token.text or token.text == "$":
            raise self.error(f"{token.text[:40]} is not the name of a new variable.", token)
        return token.text

    def _declare(self, name: str) -> int:
        self._slots.setdefault(name, []).append(self.slot_count)
        self._declared.append(name)
        self.slot_count += 1
        return self.slot_count - 1

    def _pipeline(self, end: Kind) -> Pipeline:
        at = self.peek().at
        first, calls = self._stage(), []
        while (token := self.next()).kind is Kind.PIPE:
            stage = self._stage()
            if not isinstance(stage, Call):
                raise self.error("After | must come a function.", token)
            calls.append(stage)
        if token.kind is not end:
            raise self._unexpected(token)
        return Pipeline(first, tuple(calls), (), at)

    def _stage(self) -> Expression:
        token = self.peek()
        if token.kind is not Kind.NAME or token.text in ("true", "false"):
            operand = self._operand()
            if self.peek().kind in _OPERANDS:
                raise self._unexpected(self.peek())
            return operand
        self.next()
        if token.text not in FUNCTIONS:
            raise self.error(_not_supported(token), token)
        arguments = []
        while self.peek().kind in _OPERANDS:
            if not self.peek().is_spaced:
                raise self.error("Separate the arguments of a function with spaces.", self.peek())
            arguments.append(self._operand())
        return Call(token.text, tuple(arguments), token.at)

    def _operand(self) -> Expression:
        token = self.next()
        match token.kind:
            case Kind.FIELD:
                return Field(_names(token.text), token.at)
            case Kind.DOT:
                return Field((), token.at)
            case Kind.VARIABLE:
                return self._variable(token)
            case Kind.LEFT:
                return self._parenthesized(token)
            case Kind.NAME if token.text not in ("true", "false"):
                message = f"Put the function {token.text[:40]} in parentheses to use it as an argument."
                raise self.error(message if token.text in FUNCTIONS else _not_supported(token), token)
            case Kind.NAME | Kind.NUMBER | Kind.STRING | Kind.RAW_STRING:
                return Literal(read_literal(token, self.source))
        raise self._unexpected(token)

    def _variable(self, token: Token) -> Variable:
        name, *names = token.text.split(".")
        if not self._slots.get(name):
            raise self.error(f"The variable {name[:40]} is not declared.", token)
        return Variable(self._slots[name][-1], tuple(names), token.at)

    def _parenthesized(self, token: Token) -> Expression:
        self._depth += 1
        if self._depth > self.limits.nesting:
            raise self.error(f"Parentheses are nested deeper than {self.limits.nesting} levels.", token)
        pipeline = self._pipeline(Kind.RIGHT)
        self._depth -= 1
        following = self.peek()
        if following.kind is not Kind.FIELD or following.is_spaced:
            return pipeline
        return Chain(pipeline, _names(self.next().text), following.at)

    def _unexpected(self, token: Token) -> TemplateError:
        if token.kind is Kind.CLOSE:
            return self.error(
                "The action ends too early: a value or a closing parenthesis is missing.", token
            )
        return self.error(f"Unexpected {token.text[:40]}. {SUPPORTED}", token)

    def error(self, message: str, token: Token) -> TemplateError:
        return TemplateError(message, self.source, token.at)


def _names(text: str) -> tuple[str, ...]:
    return tuple(text[1:].split("."))


def _not_supported(token: Token) -> str:
    return f"{token.text[:40]} is not supported. {SUPPORTED}"
