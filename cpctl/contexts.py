"""Which server, and who we are there: contexts in one file that only its owner may read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cpctl.errors import UsageError


@dataclass(frozen=True, slots=True)
class Context:
    """production: changes want the context's name typed."""

    name: str
    server: str
    token: str = field(default="", repr=False)
    production: bool = False


@dataclass(frozen=True, slots=True)
class Config:
    current: str = ""
    contexts: Mapping[str, Context] = field(default_factory=dict)

    def named(self, name: str) -> Context:
        if name not in self.contexts:
            known = ", ".join(sorted(self.contexts)) or "none"
            raise UsageError(
                f"There is no context {name!r}. Known: {known}.",
                hint=f"cpctl config set-context {name} --server URL",
            )
        return self.contexts[name]

    def with_context(self, context: Context) -> Config:
        return replace(self, contexts={**self.contexts, context.name: context})

    def without(self, name: str) -> Config:
        self.named(name)
        kept = {key: one for key, one in self.contexts.items() if key != name}
        return Config("" if self.current == name else self.current, kept)


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    if said := environment.get("CPCTL_CONFIG"):
        return Path(said)
    base = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "cpctl" / "config.json"


def load(path: Path) -> Config:
    try:
        said: dict[str, Any] = json.loads(path.read_text())
        contexts = {name: Context(name, **one) for name, one in said["contexts"].items()}
        return Config(said["current"], contexts)
    except FileNotFoundError:
        return Config()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is not a configuration of cpctl: {error}.") from error


def save(config: Config, path: Path) -> None:
    """Whole or not at all, and never readable by others: mkstemp makes the file with mode 0600."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    contexts = {
        name: {key: value for key, value in asdict(one).items() if key != "name"}
        for name, one in sorted(config.contexts.items())
    }
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".config-")
    with os.fdopen(handle, "w") as file:
        json.dump({"current": config.current, "contexts": contexts}, file, indent=2)
        file.write("\n")
    os.replace(temporary, path)


def chosen(config: Config, *, name: str = "", server: str = "", token: str = "") -> Context:
    """The context to use. What the command or the environment says replaces what the file says."""
    name = name or config.current
    if not name and not server:
        raise UsageError("No server is known yet.", hint="cpctl login http://localhost:8000")
    context = config.named(name) if name else Context("", "")
    if server and server.rstrip("/") != context.server:
        # A token belongs to the server that it was given for: never send it to another.
        context = replace(context, server=server, token="")
    return replace(context, server=context.server.rstrip("/"), token=token or context.token)


def read_token(file: str) -> str:
    """A token from a file, or from standard input if it is `-`. Never from the command line."""
    import sys

    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
    except OSError as error:
        raise UsageError(f"The token cannot be read: {error}.") from error
    if not (token := text.strip()) or not token.isascii() or not token.isprintable():
        raise UsageError(f"There is no token in {'standard input' if file == '-' else file}.")
    return token
