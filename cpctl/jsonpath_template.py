"""What `-o jsonpath=` finds in an answer: templates as kubectl has them.

Paths are read by the package jsonpath (RFC 9535), and text, `{range}` and `{end}` around them here. Source:
kubectl's reference, "JSONPath Support".
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from cpctl.errors import UsageError
from cpctl.output import as_text

# A brace may be inside of a quoted text, as in {"{"}.
_BLOCK = re.compile(r"\{((?:[^{}'\"]|'[^']*'|\"(?:[^\"\\]|\\.)*\")*)\}")
# A name with dots: `.labels.example\.com/team`.
_ESCAPED = re.compile(r"\.((?:[\w/-]|\\.)*\\.(?:[\w/-]|\\.)*)")
_RANGE = re.compile(r"range\s+(.+)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Text:
    text: str

    def show(self, value: Any) -> str:
        return self.text


@dataclass(frozen=True, slots=True)
class _Path:
    find: Callable[[Any], list[Any]]

    def show(self, value: Any) -> str:
        return " ".join(as_text(found, keep="\t\n") for found in self.find(value))


@dataclass(frozen=True, slots=True)
class _Range:
    find: Callable[[Any], list[Any]]
    body: list[_Part]

    def show(self, value: Any) -> str:
        return "".join(part.show(item) for item in self.find(value) for part in self.body)


_Part = _Text | _Path | _Range


def jsonpath_template(template: str) -> Callable[[Any], list[str]]:
    """Return what shows a value. Raises UsageError for a template that cannot be read."""
    # kubectl takes a bare path too.
    parts = _parts(_blocks(template if set(template) & set("{}") else f"{{{template}}}"))

    def show(value: Any) -> list[str]:
        # Each answer ends its line, so a line's end of the template would be an empty line.
        return ["".join(part.show(value) for part in parts).removesuffix("\n")]

    return show


def _blocks(template: str) -> Iterator[tuple[str, bool]]:
    """The template in pieces. True: what was in braces."""
    end = 0
    for block in _BLOCK.finditer(template):
        yield _outside(template[end : block.start()]), False
        yield block[1].strip(), True
        end = block.end()
    yield _outside(template[end:]), False


def _outside(text: str) -> str:
    if "{" in text or "}" in text:
        raise _refusal(f"unmatched brace: {text}")
    return text


def _parts(blocks: Iterator[tuple[str, bool]], *, inside: bool = False) -> list[_Part]:
    """Read until the end, or until `{end}` inside of a range."""
    parts: list[_Part] = []
    for text, is_block in blocks:
        loop = _RANGE.fullmatch(text) if is_block else None
        if not is_block:
            parts.append(_Text(text))
        elif text == "end":
            if inside:
                return parts
            raise _refusal("{end} without {range}")
        elif loop:
            parts.append(_Range(_path(loop[1]), _parts(blocks, inside=True)))
        else:
            parts.append(_quoted(text) if text.startswith(('"', "'")) else _Path(_path(text)))
    if inside:
        raise _refusal("{range} without {end}")
    return parts


def _quoted(text: str) -> _Text:
    """Read a text such as {"\\n"}: as in JSON, or plain in single quotes."""
    try:
        return _Text(json.loads(text) if text.startswith('"') else text[1:-1])
    except ValueError as error:
        raise _refusal(f"{text} is no text in quotes") from error


def _path(path: str) -> Callable[[Any], list[Any]]:
    """Compile a path. It begins where one is, whether with a name, a dot, a bracket, `@` or `$`."""
    import jsonpath

    steps = _ESCAPED.sub(lambda name: f"['{name[1].replace(chr(92), '')}']", path).lstrip("$@")
    if steps == ".":
        steps = ""
    elif steps and not steps.startswith((".", "[")):
        steps = f".{steps}"
    try:
        # Of a list: the package takes a text by itself for a JSON document.
        compiled = jsonpath.compile(f"$[0]{steps}")
    except jsonpath.JSONPathError as error:
        raise _refusal(f"{path}: {str(error).splitlines()[0]}") from error
    return lambda value: compiled.findall([value])


def _refusal(reason: str) -> UsageError:
    return UsageError(
        f"-o jsonpath: {as_text(reason)}",
        hint="-o jsonpath='{.items[*].name}', or '{range .items[*]}{.name}{\"\\n\"}{end}'",
    )
