"""Contexts: servers and tokens, in a file that only its owner can read."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from cpctl.errors import UsageError


@dataclass(frozen=True, slots=True)
class Login:
    """What renews the token of an OAuth login. expires_at: of the token, in seconds since 1970.

    secret_file: of a client that logs in by itself.
    """

    client_id: str
    token_endpoint: str
    revocation_endpoint: str = ""
    refresh_token: str = field(default="", repr=False)
    secret_file: str = ""
    scope: str = ""
    expires_at: float = 0


@dataclass(frozen=True, slots=True)
class Context:
    """A server with a token. production: changes require typing the context's name.

    plugin_mode: of the commands `plugins`, server or client; empty: they need `--mode`.
    """

    name: str
    server: str
    token: str = field(default="", repr=False)
    production: bool = False
    login: Login | None = None
    plugin_mode: str = ""


@dataclass(frozen=True, slots=True)
class Config:
    current: str = ""
    contexts: Mapping[str, Context] = field(default_factory=dict)

    def named(self, name: str) -> Context:
        if name not in self.contexts:
            names = ", ".join(sorted(self.contexts)) or "none"
            raise UsageError(
                f"The context {name!r} does not exist. Contexts: {names}.",
                hint=f"cpctl config set-context {name} --server URL",
            )
        return self.contexts[name]

    def with_context(self, context: Context) -> Config:
        return replace(self, contexts={**self.contexts, context.name: context})

    def without(self, name: str) -> Config:
        self.named(name)
        remaining = {key: context for key, context in self.contexts.items() if key != name}
        return Config("" if self.current == name else self.current, remaining)


def config_path(environment: Mapping[str, str] = os.environ) -> Path:
    if path := environment.get("CPCTL_CONFIG"):
        return Path(path)
    base = environment.get("XDG_CONFIG_HOME") or str(Path.home() / ".config")
    return Path(base) / "cpctl" / "config.json"


def load(path: Path) -> Config:
    try:
        document: dict[str, Any] = json.loads(path.read_text())
        contexts = {name: _read_context(name, fields) for name, fields in document["contexts"].items()}
        return Config(document["current"], contexts)
    except FileNotFoundError:
        return Config()
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise UsageError(f"{path} is not a valid cpctl configuration: {error}.") from error


def _read_context(name: str, fields: dict[str, Any]) -> Context:
    login = fields.pop("login", None)
    return Context(name, **fields, login=Login(**login) if login else None)


def save(config: Config, path: Path) -> None:
    """Write the configuration atomically. mkstemp creates the file with mode 0600."""
    import tempfile

    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    contexts = {
        name: {key: value for key, value in asdict(context).items() if key != "name"}
        for name, context in sorted(config.contexts.items())
    }
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".config-")
    with os.fdopen(handle, "w") as file:
        json.dump({"current": config.current, "contexts": contexts}, file, indent=2)
        file.write("\n")
    os.replace(temporary, path)


def chosen(config: Config, *, name: str = "", server: str = "", token: str = "") -> Context:
    """Return the context to use. Options and environment variables override the file."""
    name = name or config.current
    if not name and not server:
        raise UsageError("No server is configured. Log in first.", hint="cpctl login http://localhost:8000")
    context = config.named(name) if name else Context("", "")
    if server and server.rstrip("/") != context.server:
        # A token must never be sent to another server than its own.
        context = replace(context, server=server, token="", login=None)
    if token:
        context = replace(context, token=token, login=None)
    return replace(context, server=context.server.rstrip("/"))


def read_token(file: str) -> str:
    """Read a token from a file, or from standard input for `-`, but never from the command line."""
    import sys

    try:
        text = sys.stdin.read() if file == "-" else Path(file).read_text()
    except OSError as error:
        raise UsageError(f"Cannot read the token: {error}.") from error
    if not (token := text.strip()) or not token.isascii() or not token.isprintable():
        raise UsageError(f"{'Standard input' if file == '-' else file} does not contain a valid token.")
    return token
