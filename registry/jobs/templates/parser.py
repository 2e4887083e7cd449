"""Parse a template into its syntax tree. Pure."""

from __future__ import annotations

from registry.jobs.templates.errors import SUPPORTED, TemplateError
from registry.jobs.templates.limits import DEFAULT_LIMITS, Limits
from registry.jobs.templates.nodes import Body, If, Node, Output, Pipeline, Range, Template, Text, With
from registry.jobs.templates.pipelines import PipelineParser
from registry.jobs.templates.tokens import Kind, Token, split_template

_BLOCKS = ("if", "with", "range")


def parse(source: str, limits: Limits = DEFAULT_LIMITS) -> Template:
    """Return the syntax tree. Raises TemplateError."""
    if len(source) > limits.template_bytes or len(source.encode()) > limits.template_bytes:
        raise TemplateError(f"The template is longer than {limits.template_bytes} bytes.", source, 0)
    parser = _Parser(source, limits)
    body, end = parser.body(None)
    assert end is None
    return Template(source, body, parser.pipelines.slot_count)


class _Parser:
    def __init__(self, source: str, limits: Limits) -> None:
        self.source = source
        self.limits = limits
        self.pipelines = PipelineParser(source, split_template(source), limits)
        self.depth = 0

    def body(self, opening: Token | None) -> tuple[Body, Token | None]:
        """Return the nodes up to `end` or `else`, and that word; None at the end of the template."""
        nodes: list[Node] = []
        while (token := self.pipelines.next_or_none()) is not None:
            if token.kind is Kind.TEXT:
                nodes.append(Text(token.text))
                continue
            word = self.pipelines.peek()
            if word.kind is Kind.NAME and word.text in ("end", "else"):
                if opening is None:
                    raise self.error(f"{{{{{word.text}}}}} without an open block.", word)
                return tuple(nodes), self.pipelines.next()
            nodes.append(self.action(word))
        if opening is not None:
            raise self.error(f"The block {{{{{opening.text}}}}} is not closed with {{{{end}}}}.", opening)
        return tuple(nodes), None

    def action(self, word: Token) -> Node:
        if word.kind is not Kind.NAME or word.text not in _BLOCKS:
            return Output(self.pipelines.parse_action())
        self.pipelines.next()
        self.depth += 1
        if self.depth > self.limits.nesting:
            raise self.error(f"Blocks are nested deeper than {self.limits.nesting} levels.", word)
        mark = self.pipelines.open_scope()
        node = self.block(word)
        self.pipelines.close_scope(mark)
        self.depth -= 1
        return node

    def block(self, word: Token) -> Node:
        if word.text == "if":
            return self.conditional(word)
        pipeline = self.pipelines.parse_action(names_index=word.text == "range")
        body, end = self.scoped_body(word)
        otherwise: Body = ()
        if end.text == "else":
            self.close(end)
            otherwise, end = self.scoped_body(word)
        self.expect_end(end)
        return Range(pipeline, body, otherwise) if word.text == "range" else With(pipeline, body, otherwise)

    def conditional(self, word: Token) -> If:
        """`else if` continues the same block, so that a long chain is not nested."""
        branches: list[tuple[Pipeline, Body]] = []
        while True:
            pipeline = self.pipelines.parse_action()
            body, end = self.scoped_body(word)
            branches.append((pipeline, body))
            if end.text == "else" and self.pipelines.peek().text == "if":
                self.pipelines.next()
                continue
            otherwise: Body = ()
            if end.text == "else":
                self.close(end)
                otherwise, end = self.scoped_body(word)
            self.expect_end(end)
            return If(tuple(branches), otherwise)

    def scoped_body(self, opening: Token) -> tuple[Body, Token]:
        """Variables of a body end with it; those of the block's own pipeline end with the block."""
        mark = self.pipelines.open_scope()
        body, end = self.body(opening)
        self.pipelines.close_scope(mark)
        assert end is not None  # `body` raises if an opened block is not closed
        return body, end

    def expect_end(self, token: Token) -> None:
        if token.text != "end":
            raise self.error("A block has only one {{else}}. Use {{else if}} before it.", token)
        self.close(token)

    def close(self, word: Token) -> None:
        token = self.pipelines.next()
        if token.kind is not Kind.CLOSE:
            raise self.error(f"Unexpected {token.text[:40]} after {word.text}. {SUPPORTED}", token)

    def error(self, message: str, token: Token) -> TemplateError:
        return TemplateError(message, self.source, token.at)
