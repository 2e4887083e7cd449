"""What `--jq` finds in an answer, as lines. The package jq is an extra, and imported only here."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

from cpctl.errors import UsageError


def jq_filter(program: str) -> Callable[[Any], list[str]]:
    """Raises UsageError where jq is missing or cannot read the program; so does the filter where it fails."""
    try:
        import jq
    except ImportError as error:
        raise UsageError(
            "--jq needs the package jq, which is not installed.",
            hint="pipx install --force './cpctl[jq]' in a checkout, or pipe -o json into the jq program",
        ) from error
    try:
        compiled = jq.compile(program)
    except ValueError as error:
        raise _refusal(error) from error

    def run(value: Any) -> list[str]:
        try:
            return [_line(result) for result in compiled.input_value(value).all()]
        except ValueError as error:
            raise _refusal(error) from error

    return run


def _refusal(error: ValueError) -> UsageError:
    reason = str(error).removeprefix("jq: error: ").removesuffix("\njq: 1 compile error")
    return UsageError(f"--jq: {_printable(reason)}")


def _line(value: Any) -> str:
    """Strings without quotes, as `jq -r` prints them; the rest as compact JSON."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _printable(text)


def _printable(text: str) -> str:
    """A server can answer with anything: a terminal must not obey it."""
    kept = (
        letter if letter.isprintable() or letter in "\t\n" else "\N{REPLACEMENT CHARACTER}" for letter in text
    )
    return "".join(kept)
