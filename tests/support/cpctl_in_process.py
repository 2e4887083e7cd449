"""Run cpctl within the test's process: a start of Python for each command would take most of the time."""

from __future__ import annotations

import os
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import fields
from io import StringIO
from typing import Any, Self
from unittest import mock

from cpctl.errors import CpctlError
from cpctl.exits import Exit
from cpctl.main import _print_error, app
from cpctl.session import SESSION, Session
from tests.support.cpctl_runner import Cpctl, Ran


class CpctlInProcess(Cpctl):
    """The same, without a process. The working folder is that of the test."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        _forget()

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Ran:
        assert not stdin, "Use a process for standard input."
        out, err = StringIO(), StringIO()
        _forget()
        with (
            mock.patch.dict(os.environ, self.variables(**environment)),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            code = _run(list(arguments))
        return Ran(code, out.getvalue(), err.getvalue())


def _run(arguments: list[str]) -> int:
    try:
        app(["--no-input", *arguments], prog_name="cpctl", standalone_mode=False)
    except CpctlError as error:
        return int(_print_error(error))
    except Exception as error:  # typer brings a click of its own, whose errors have an exit code
        code: Any = getattr(error, "exit_code", None)
        if code is None:
            raise
        return int(code)
    return int(Exit.OK)


def _forget() -> None:
    for field in fields(Session):
        setattr(SESSION, field.name, field.default)
