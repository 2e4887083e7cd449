"""What `--jq` finds in an answer, as lines. The package jq is an extra, and imported only here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cpctl.errors import UsageError
from cpctl.output import as_text


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
            return [as_text(result, keep="\t\n") for result in compiled.input_value(value).all()]
        except ValueError as error:
            raise _refusal(error) from error

    return run


def _refusal(error: ValueError) -> UsageError:
    reason = str(error).removeprefix("jq: error: ").removesuffix("\njq: 1 compile error")
    return UsageError("--jq: " + as_text(reason, keep="\t\n"))
