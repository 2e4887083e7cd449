"""Run cpctl within the test's process: a start of Python for each command would take most of the time."""

from __future__ import annotations

import os
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from io import StringIO
from typing import Any, Self
from unittest import mock

import typer

from cpctl.errors import CpctlError
from cpctl.exits import Exit
from cpctl.main import _print_error, app
from cpctl.session import SESSION, Session
from tests.support.cpctl_runner import Cpctl, Ran

# `app(...)` would build every command again for each call.
_COMMAND = typer.main.get_command(app)


class CpctlInProcess(Cpctl):
    """The same, without a process. The working folder is that of the test; nobody sits at a terminal."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        _forget()

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Ran:
        out, err = StringIO(), StringIO()
        _forget()
        with (
            mock.patch.dict(os.environ, self.variables(**environment), clear=True),
            mock.patch.object(sys, "stdin", StringIO(stdin)),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = _run(list(arguments))
        return Ran(code, out.getvalue(), err.getvalue())

    def process(self, *arguments: str, stdin: str = "", **environment: str) -> Ran:
        """Run it as a process, where that is what the test is about."""
        return super().__call__(*arguments, stdin=stdin, **environment)


def _run(arguments: list[str]) -> int:
    try:
        ended = _COMMAND.main(arguments, prog_name="cpctl", standalone_mode=False)
    except CpctlError as error:
        return int(_print_error(error))
    except Exception as error:  # typer brings a click of its own, whose errors have an exit code
        code: Any = getattr(error, "exit_code", None)
        if code is None:
            raise
        return int(code)
    return ended if isinstance(ended, int) else int(Exit.OK)


def _forget() -> None:
    for field in fields(Session):
        setattr(SESSION, field.name, field.default)
