"""A strict reader of the part of HCL that the console writes: blocks, attributes and expressions."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from typing import Any

_TOKEN = re.compile(
    r'[ \t]*(?:"(?:[^"\\\n]|\\.)*"'  # text
    r"|[A-Za-z_][\w.]*|-?\d[\d.eE+-]*"  # word, number
    r"|[{}\[\]()=,\n])"
)
_INTERPOLATION = re.compile(r"(?<!\$)\$\{([^}]*)\}")


@dataclass
class Block:
    kind: str
    labels: tuple[str, ...]
    attributes: dict[str, Any] = field(default_factory=dict)
    blocks: list[Block] = field(default_factory=list)


class Hcl:
    """Read a file with `blocks`; raises ValueError or IndexError for what is no HCL."""

    def __init__(self, text: str) -> None:
        self._tokens: list[str] = []
        at = 0
        while at < len(text.rstrip(" ")):
            match = _TOKEN.match(text, at)
            if match is None:
                raise ValueError(f"no HCL: {text[at : at + 40]!r}")
            self._tokens.append(match.group().strip(" \t"))
            at = match.end()

    def blocks(self) -> list[Block]:
        found = []
        self._skip_lines()
        while self._tokens:
            found.append(self._block(self._take()))
            self._skip_lines()
        return found

    def _block(self, kind: str) -> Block:
        labels = []
        while self._tokens[0] != "{":
            labels.append(_literal(self._take()))
        block = Block(kind, tuple(labels))
        self._expect("{")
        self._skip_lines()
        while self._tokens[0] != "}":
            name = self._take()
            if self._tokens[0] != "=":
                block.blocks.append(self._block(name))
            else:
                self._expect("=")
                if name in block.attributes:
                    raise ValueError(f"{name} is set twice")
                block.attributes[name] = self._expression()
                self._expect("\n")
            self._skip_lines()
        self._expect("}")
        return block

    def _expression(self) -> Any:
        token = self._take()
        if token == "{":
            return self._object()
        if token == "[":
            return self._list()
        if token == "jsonencode":
            self._expect("(")
            value = self._expression()
            self._expect(")")
            return json.dumps(value)
        if token.startswith('"'):
            return _literal(token)
        if token in ("true", "false", "null") or token[0] in "-0123456789":
            return json.loads(token)
        if token.isidentifier():
            return token
        raise ValueError(f"no expression: {token!r}")

    def _object(self) -> dict[str, Any]:
        members: dict[str, Any] = {}
        self._skip_lines()
        while self._tokens[0] != "}":
            key = self._take()
            name = _literal(key) if key.startswith('"') else key
            self._expect("=")
            if name in members:
                raise ValueError(f"{name} is set twice")
            members[name] = self._expression()
            if self._tokens[0] != "}":
                self._expect("\n")
            self._skip_lines()
        self._expect("}")
        return members

    def _list(self) -> list[Any]:
        items = []
        self._skip_lines()
        while self._tokens[0] != "]":
            items.append(self._expression())
            self._skip_lines()
            if self._tokens[0] != "]":
                self._expect(",")
            self._skip_lines()
        self._expect("]")
        return items

    def _take(self) -> str:
        return self._tokens.pop(0)

    def _expect(self, token: str) -> None:
        if (taken := self._take()) != token:
            raise ValueError(f"{taken!r} instead of {token!r}")

    def _skip_lines(self) -> None:
        while self._tokens and self._tokens[0] == "\n":
            self._take()


def _literal(token: str) -> str:
    """Return a string with `<name>` for an interpolation; raises ValueError for an open template."""
    text = str(json.loads(token))
    text = _INTERPOLATION.sub(lambda match: f"<{match.group(1)}>", text)
    if re.search(r"(?<!\$)\$\{|(?<!%)%\{", text):
        raise ValueError(f"an open template: {text!r}")
    return text.replace("$${", "${").replace("%%{", "%{")
