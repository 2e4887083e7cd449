"""Render a template, and report what it read and what was missing. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from registry.jobs.templates.errors import EvaluationError, TemplateError
from registry.jobs.templates.functions import ARITY, FUNCTIONS
from registry.jobs.templates.limits import DEFAULT_LIMITS, Budget, Limits
from registry.jobs.templates.nodes import (
    Body,
    Call,
    Chain,
    Expression,
    Field,
    If,
    Literal,
    Node,
    Output,
    Pipeline,
    Range,
    Template,
    Text,
    Variable,
    With,
)
from registry.jobs.templates.parser import parse
from registry.jobs.templates.values import Data, Members, Missing, Path, Value, describe, is_true, write_value

# Go's white space; Python's `strip` also removes the separators U+001C to U+001F.
_SPACES = "\t\n\v\f\r \u0085\u00a0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(
    map(chr, range(0x2000, 0x200B))
)


@dataclass(frozen=True, slots=True)
class Rendered:
    """The trimmed text. reads: all names that were read, from the top of the data.

    missing: names that do not exist; unsubstituted: those of them that are in the text as `<no value>`.
    """

    text: str
    reads: frozenset[Path]
    missing: tuple[Path, ...]
    unsubstituted: tuple[Path, ...]


def render(
    source: str, data: Data, limits: Limits = DEFAULT_LIMITS, budget: Budget | None = None
) -> Rendered:
    """Render the source with the data. Raises TemplateError. budget: what other templates have left."""
    return render_template(parse(source, limits), data, budget or Budget(limits))


def render_template(template: Template, data: Data, budget: Budget | None = None) -> Rendered:
    """Render a parsed template. Raises TemplateError."""
    renderer = _Renderer(template, data, budget or Budget())
    try:
        renderer.body(template.body, renderer.slots[0])
    except EvaluationError as error:
        raise TemplateError(str(error), template.source, renderer.at) from error
    return renderer.result()


class _Renderer:
    """at: the offset in the source of what is being evaluated."""

    def __init__(self, template: Template, data: Data, budget: Budget) -> None:
        self.budget = budget
        self.at = 0
        self.slots: list[Value] = [Members((), data)] * template.slots
        self.texts: list[str] = []
        self.reads: set[Path] = set()
        # Dictionaries keep the order of the template.
        self.missing: dict[Path, None] = {}
        self.unsubstituted: dict[Path, None] = {}

    def result(self) -> Rendered:
        text = "".join(self.texts).strip(_SPACES)
        return Rendered(text, frozenset(self.reads), tuple(self.missing), tuple(self.unsubstituted))

    def body(self, nodes: Body, dot: Value) -> None:
        for node in nodes:
            self.node(node, dot)

    def node(self, node: Node, dot: Value) -> None:
        match node:
            case Text(text):
                self.emit(text)
            case Output(pipeline):
                self.output(pipeline, dot)
            case If(branches, otherwise):
                taken = (body for pipeline, body in branches if is_true(self.pipeline(pipeline, dot)))
                self.body(next(taken, otherwise), dot)
            case With(pipeline, body, otherwise):
                value = self.pipeline(pipeline, dot)
                self.body(body, value) if is_true(value) else self.body(otherwise, dot)
            case Range():
                self.loop(node, dot)

    def output(self, pipeline: Pipeline, dot: Value) -> None:
        value = self.pipeline(pipeline, dot)
        if not pipeline.slots:  # a declaration prints nothing
            self.note_unsubstituted(value)
            self.emit(write_value(value))

    def loop(self, node: Range, dot: Value) -> None:
        items = self.pipeline(node.pipeline, dot)
        if not isinstance(items, tuple | Missing):
            raise EvaluationError(f"range supports lists, not {describe(items)}.")
        if isinstance(items, Missing) or not items:
            self.body(node.otherwise, dot)
            return
        for index, item in enumerate(items):
            self.budget.iterate()
            self.declare_item(node.pipeline.slots, index, item)
            self.body(node.body, item)

    def declare_item(self, slots: tuple[int, ...], index: int, item: str) -> None:
        if len(slots) == 2:
            self.slots[slots[0]] = index
        if slots:
            self.slots[slots[-1]] = item

    def emit(self, text: str) -> None:
        self.budget.write(text)
        self.texts.append(text)

    def pipeline(self, pipeline: Pipeline, dot: Value) -> Value:
        self.at = pipeline.at
        value = self.evaluate(pipeline.first, dot)
        for call in pipeline.calls:
            value = self.call(call, dot, (value,))
        for slot in pipeline.slots:
            self.slots[slot] = value
        return value

    def evaluate(self, expression: Expression, dot: Value) -> Value:
        self.budget.step()
        match expression:
            case Literal(value):
                return value
            case Field(names, at):
                return self.field(dot, names, at)
            case Variable(slot, names, at):
                return self.field(self.slots[slot], names, at)
            case Chain(pipeline, names, at):
                return self.field(self.pipeline(pipeline, dot), names, at)
            case Call():
                return self.call(expression, dot)
        return self.pipeline(expression, dot)

    def field(self, value: Value, names: Path, at: int) -> Value:
        self.at = at
        for name in names:
            if isinstance(value, Missing):
                value = Missing((*value.path, name))
            elif isinstance(value, Members):
                value = self.member(value, name)
            else:
                raise EvaluationError(f"{describe(value).capitalize()} has no field {name[:40]}.")
        return value

    def member(self, owner: Members, name: str) -> Value:
        path = (*owner.path, name)
        self.reads.add(path)
        if (value := owner.values.get(name)) is None:
            self.missing[path] = None
            return Missing(path)
        return value if isinstance(value, str) else Members(path, value)

    def call(self, call: Call, dot: Value, piped: tuple[Value, ...] = ()) -> Value:
        self.at = call.at
        self.check_arity(call, len(call.arguments) + len(piped))
        if call.function in ("and", "or"):
            return self.choose(call, dot, piped)
        values = (*(self.evaluate(argument, dot) for argument in call.arguments), *piped)
        self.at = call.at
        if call.function == "printf":
            for value in values:
                self.note_unsubstituted(value)
        self.charge(values)
        function = FUNCTIONS[call.function]
        result = self.index(values) if function is None else function(values)
        self.charge((result,))
        return result

    def choose(self, call: Call, dot: Value, piped: tuple[Value, ...]) -> Value:
        """Return the first argument that decides `and` or `or`; later ones are not evaluated."""
        value = piped[-1] if piped else Missing(())
        for argument in call.arguments:
            value = self.evaluate(argument, dot)
            if is_true(value) is (call.function == "or"):
                return value
        return piped[-1] if piped else value

    def index(self, values: Sequence[Value]) -> Value:
        value = values[0]
        for key in values[1:]:
            if isinstance(value, Members) and isinstance(key, str):
                owner, value = value, self.member(value, key)
                if isinstance(value, Missing) and owner.path:
                    value = ""  # what Go returns for a map of text
            elif isinstance(value, tuple) and isinstance(key, int) and not isinstance(key, bool):
                if not 0 <= key < len(value):
                    raise EvaluationError(f"The list has {len(value)} elements; there is none at {key}.")
                value = value[key]
            else:
                raise EvaluationError(f"index does not support {describe(value)} with {describe(key)}.")
        return value

    def charge(self, values: Sequence[Value]) -> None:
        """Count the characters that functions read and write."""
        for value in values:
            if isinstance(value, str | tuple):
                self.budget.process(len(value) if isinstance(value, str) else sum(map(len, value)))

    def check_arity(self, call: Call, count: int) -> None:
        fewest, most = ARITY[call.function]
        if count < fewest or (most is not None and count > most):
            expected = f"{fewest}" if most == fewest else f"at least {fewest}"
            raise EvaluationError(f"{call.function} takes {expected} arguments, not {count}.")

    def note_unsubstituted(self, value: Value) -> None:
        if isinstance(value, Missing):
            self.unsubstituted[value.path] = None
