"""The command `completion`: shell completion of commands and names."""

from __future__ import annotations

from typing import Annotated

import typer

from cpctl.errors import UsageError
from cpctl.output import say

_SHELLS = ("bash", "zsh", "fish")


def completion(shell: Annotated[str, typer.Argument(help="Shell: bash, zsh or fish.")]) -> None:
    """Print the completion script of a shell. To load it: source <(cpctl completion bash).

    \b
    cpctl completion bash > cpctl.bash
    """
    from typer._completion_shared import get_completion_script

    if shell not in _SHELLS:
        raise UsageError(f"Unsupported shell. Use one of {', '.join(_SHELLS)}.")
    say(get_completion_script(prog_name="cpctl", complete_var="_CPCTL_COMPLETE", shell=shell))
