"""Strings and numbers of templates, by Go's rules. Pure."""

from __future__ import annotations

import re

from registry.jobs.templates.errors import TemplateError
from registry.jobs.templates.tokens import Kind, Token

_INTEGER = re.compile(r"[+-]?(0|[1-9][0-9]{0,18})", re.ASCII)
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{2})|u([0-9a-fA-F]{4})|U([0-9a-fA-F]{8})|(.))", re.DOTALL)
_LARGEST = (1 << 63) - 1
_LETTERS = {
    "a": "\a",
    "b": "\b",
    "f": "\f",
    "n": "\n",
    "r": "\r",
    "t": "\t",
    "v": "\v",
    "\\": "\\",
    '"': '"',
}


def read_literal(token: Token, source: str) -> str | int | bool:
    """Return the value of a string, number or boolean. Raises TemplateError."""
    match token.kind:
        case Kind.NUMBER:
            return _read_number(token, source)
        case Kind.RAW_STRING:
            return token.text[1:-1].replace("\r", "")
        case Kind.STRING:
            return _read_string(token, source)
    return token.text == "true"


def _read_number(token: Token, source: str) -> int:
    if not _INTEGER.fullmatch(token.text):
        message = f"{token.text[:40]} is not a decimal integer; other numbers are not supported."
        raise TemplateError(message, source, token.at)
    number = int(token.text)
    if not -_LARGEST - 1 <= number <= _LARGEST:
        raise TemplateError(f"{token.text} exceeds 64 bits.", source, token.at)
    return number


def _read_string(token: Token, source: str) -> str:
    def value(escape: re.Match[str]) -> str:
        character = _escaped(escape)
        if character is None:
            message = f"The escape {escape[0]} is not supported in a string. Write the character itself."
            raise TemplateError(message, source, token.at + 1 + escape.start())
        return character

    return _ESCAPE.sub(value, token.text[1:-1])


def _escaped(escape: re.Match[str]) -> str | None:
    """Return the character; None for bytes that are no character, and surrogates."""
    byte, short, long, letter = escape.groups()
    if letter is not None:
        return _LETTERS.get(letter)
    code = int(byte or short or long, 16)
    if (byte and code > 0x7F) or 0xD800 <= code <= 0xDFFF or code > 0x10FFFF:
        return None
    return chr(code)
