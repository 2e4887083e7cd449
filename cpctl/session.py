"""State of one run: global options, and the client created from them."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cpctl.contexts import Config, Context, chosen, config_path, load, read_token
from cpctl.errors import Declined, UsageError
from cpctl.output import Paint, note, paint_for

if TYPE_CHECKING:
    from cpctl.client import Api


@dataclass(slots=True)
class Session:
    """The global options, which cpctl.main sets once."""

    context: str = ""
    server: str = ""
    token_file: str = ""
    color: str = "auto"
    quiet: bool = False
    # Of a dry run whose answer looks like that of a change.
    rehearses: bool = False
    debug: bool = False
    no_input: bool = False
    _chosen: Context | None = None

    def config(self) -> Config:
        return load(config_path())

    def chosen(self) -> Context:
        # Cached, because a token can be read from standard input only once.
        if self._chosen is None:
            self._chosen = self._choose()
        return self._chosen

    def _choose(self) -> Context:
        file = self.token_file or os.environ.get("CPCTL_TOKEN_FILE", "")
        token = read_token(file) if file else os.environ.get("CPCTL_TOKEN", "")
        name = self.context_name()
        server = self.server or os.environ.get("CPCTL_SERVER", "")
        return _with_valid_token(chosen(self.config(), name=name, server=server, token=token.strip()))

    def context_name(self) -> str:
        """Return the name of the context that was asked for; empty for the current one."""
        return self.context or os.environ.get("CPCTL_CONTEXT", "")

    def named(self, name: str) -> Context:
        """Return a context by its name, whichever one is chosen."""
        return _with_valid_token(chosen(self.config(), name=name))

    def plugin_mode(self) -> str:
        """Return the mode of plugins of the chosen context; empty without one."""
        config = self.config()
        name = self.context_name() or config.current
        return config.contexts[name].plugin_mode if name in config.contexts else ""

    def trace(self) -> Callable[[str], None]:
        """Return what prints requests, if they are to be printed."""
        return note if self.debug else lambda line: None

    def api(self, context: Context | None = None, *, tries: bool = True) -> Api:
        from cpctl.client import Api

        return Api(context or self.chosen(), trace=self.trace(), tries=tries)

    def paint(self) -> Paint:
        return paint_for(self.color, sys.stdout)

    def tell(self, text: str) -> None:
        if not self.quiet:
            note(text)

    def confirm(self, question: str, *, yes: bool) -> None:
        """Ask for confirmation. Raises Declined, and UsageError without a terminal."""
        context = self.chosen()
        if yes:
            return
        if self.no_input or not sys.stdin.isatty():
            raise UsageError("Cannot ask for confirmation without a terminal.", hint="add --yes")
        expected = context.name if context.production else "y"
        typed = f"type {expected!r} to continue" if context.production else "y/N"
        sys.stderr.write(f"{context.name or context.server}: {question} [{typed}] ")
        sys.stderr.flush()
        answer = sys.stdin.readline().strip()
        if answer != expected and not (expected == "y" and answer.lower() == "yes"):
            raise Declined("Nothing was changed.")


def _with_valid_token(context: Context) -> Context:
    """Return the context with its token renewed if that is due."""
    if context.login is None:
        return context
    from cpctl.oauth.renewal import is_due, renew

    return renew(context, config_path()) if is_due(context.login) else context


SESSION = Session()
