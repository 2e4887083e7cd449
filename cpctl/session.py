"""What one run of cpctl knows: the options before the command, and from them the client."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpctl.contexts import Config, Context, chosen, config_path, load, read_token
from cpctl.errors import Declined, UsageError
from cpctl.output import Paint, note, paint_for

if TYPE_CHECKING:
    from cpctl.client import Api


@dataclass(slots=True)
class Session:
    """Set once by the options before the command (cpctl.main)."""

    context: str = ""
    server: str = ""
    token_file: str = ""
    color: str = "auto"
    quiet: bool = False
    debug: bool = False
    no_input: bool = False
    _chosen: Context | None = None

    def config(self) -> Config:
        return load(config_path())

    def chosen(self) -> Context:
        # Once: a token from standard input can be read only once.
        if self._chosen is None:
            self._chosen = self._choose()
        return self._chosen

    def _choose(self) -> Context:
        file = self.token_file or os.environ.get("CPCTL_TOKEN_FILE", "")
        token = read_token(file) if file else os.environ.get("CPCTL_TOKEN", "")
        name = self.context or os.environ.get("CPCTL_CONTEXT", "")
        server = self.server or os.environ.get("CPCTL_SERVER", "")
        return chosen(self.config(), name=name, server=server, token=token.strip())

    def api(self, context: Context | None = None, *, tries: bool = True) -> Api:
        from cpctl.client import Api

        trace = note if self.debug else lambda line: None
        return Api(context or self.chosen(), trace=trace, tries=tries)

    def paint(self) -> Paint:
        return paint_for(self.color, sys.stdout)

    def tell(self, text: str) -> None:
        if not self.quiet:
            note(text)

    def confirm(self, question: str, *, yes: bool) -> None:
        """Go on only if somebody says so. Without a terminal nobody is asked. Raises Declined."""
        context = self.chosen()
        if yes:
            return
        if self.no_input or not sys.stdin.isatty():
            raise UsageError("There is no terminal to ask at.", hint="say --yes")
        wanted = context.name if context.production else "y"
        typed = f"type {wanted!r} to go on" if context.production else "y/N"
        sys.stderr.write(f"{context.name or context.server}: {question} [{typed}] ")
        sys.stderr.flush()
        said = sys.stdin.readline().strip()
        if said != wanted and not (wanted == "y" and said.lower() == "yes"):
            raise Declined("Nothing was changed.")


SESSION = Session()
