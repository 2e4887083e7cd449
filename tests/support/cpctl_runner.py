"""Run cpctl as people do: a process of its own, with its own configuration."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.paths import ROOT

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


@dataclass(frozen=True)
class Ran:
    code: int
    out: str
    err: str

    @property
    def lines(self) -> list[str]:
        """Lines without the times, which no test can know."""
        return [_TIME.sub("<time>", line) for line in self.out.splitlines()]


@dataclass
class Cpctl:
    folder: Path
    server: str = ""
    token: str = ""
    environment: dict[str, str] = field(default_factory=dict)

    def __call__(self, *arguments: str, stdin: str = "", **environment: str) -> Ran:
        ran = subprocess.run(
            [sys.executable, "-m", "cpctl", *arguments],
            input=stdin,
            capture_output=True,
            text=True,
            env=self.variables(**environment),
            cwd=self.folder,
            timeout=60,
            check=False,
        )
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def at_a_terminal(self, typed: str, *arguments: str) -> Ran:
        """Somebody types at a terminal; what is shown is still caught."""
        theirs, ours = pty.openpty()
        try:
            os.write(theirs, typed.encode())
            ran = subprocess.run(
                [sys.executable, "-m", "cpctl", *arguments],
                stdin=ours,
                capture_output=True,
                text=True,
                env=self.variables(),
                cwd=self.folder,
                timeout=60,
                check=False,
            )
        finally:
            os.close(theirs)
            os.close(ours)
        return Ran(ran.returncode, ran.stdout, ran.stderr)

    def start(self, *arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "cpctl", *arguments],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=self.variables(),
            cwd=self.folder,
        )

    def variables(self, **more: str) -> dict[str, str]:
        names = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        named = {
            "CPCTL_CONFIG": str(self.folder / "config" / "config.json"),
            "XDG_CACHE_HOME": str(self.folder / "cache"),
            "CPCTL_SERVER": self.server,
            "CPCTL_TOKEN": self.token,
            "PYTHONPATH": str(ROOT),
            "HOME": str(self.folder),
        }
        return {
            **names,
            **{name: value for name, value in named.items() if value},
            **self.environment,
            **more,
        }
