"""Extensions: a program `cpctl-foo` on the PATH is the command `cpctl foo`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn

PREFIX = "cpctl-"
# Global options that an extension gets, by the variable that cpctl itself would read.
_VARIABLES = {"context": "CPCTL_CONTEXT", "server": "CPCTL_SERVER", "token_file": "CPCTL_TOKEN_FILE"}


def program_of(words: Sequence[str]) -> tuple[str, int]:
    """Return the program of the longest name in these words, and how many of them it takes; "" if none."""
    names = [word for word in words[: _names_before_options(words)] if _is_name(word)]
    for count in range(len(names), 0, -1):
        if program := shutil.which(PREFIX + "-".join(names[:count])):
            return program, count
    return "", 0


def installed() -> list[str]:
    """Return the names of all extensions on the PATH, without their prefix."""
    names = {
        file.name.removeprefix(PREFIX)
        for folder in os.environ.get("PATH", "").split(os.pathsep)
        if folder
        for file in Path(folder).glob(f"{PREFIX}*")
        if os.access(file, os.X_OK) and file.is_file()
    }
    return sorted(names)


def variables(options: Mapping[str, Any], environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment of an extension: global options of the command line go before variables."""
    named = {_VARIABLES[name]: str(value) for name, value in options.items() if name in _VARIABLES and value}
    return {**environment, **named}


def run(program: str, arguments: Sequence[str], environment: Mapping[str, str]) -> NoReturn:
    """Replace this process by the program, so that signals and the exit code are its own."""
    if sys.platform == "win32":
        sys.exit(subprocess.call([program, *arguments], env=dict(environment)))
    os.execve(program, [program, *arguments], dict(environment))  # noqa: S606


def _names_before_options(words: Sequence[str]) -> int:
    return next((at for at, word in enumerate(words) if word.startswith("-")), len(words))


def _is_name(word: str) -> bool:
    return "/" not in word and os.sep not in word and bool(word)
