"""Parts of an answer, by `-o jsonpath=`, `--jq` and `--template`, as lines. Pure."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cpctl.selectors.expressions import compiled
from cpctl.selectors.functions import plain_text
from cpctl.selectors.templates import jsonpath, template

Pick = Callable[[Any], list[str]]


def pick_by(language: str, text: str) -> Pick:
    """Raises UsageError where the text cannot be read."""
    if language == "jq":
        found = compiled(text)
        return lambda value: [_shown(plain_text(one)) for one in found(value)]
    said = (jsonpath if language == "jsonpath" else template)(text)
    return lambda value: [_shown(one) for one in said(value).removesuffix("\n").split("\n")]


def _shown(text: str) -> str:
    """What the server tells may hold anything: a terminal must not obey it."""
    kept = (one if one.isprintable() or one in "\t\n" else "\N{REPLACEMENT CHARACTER}" for one in text)
    return "".join(kept)
