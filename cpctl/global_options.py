"""Global options after the command: `cpctl get agents -q` means the same as `cpctl -q get agents`."""

from __future__ import annotations

from typing import Any

from typer.core import TyperOption

from cpctl import completion
from cpctl.errors import UsageError
from cpctl.session import SESSION

COLORS = ("auto", "always", "never")
_FLAGS = {"quiet": ("-q", "--quiet"), "no_input": ("--no-input",), "debug": ("--debug",)}
_VALUES = {
    "context": ("--context",),
    "server": ("--server",),
    "token_file": ("--token-file",),
    "color": ("--color",),
}


def checked_color(color: str) -> str:
    if color not in COLORS:
        raise UsageError(f"Invalid --color. Use {', '.join(COLORS[:-1])} or {COLORS[-1]}.")
    return color


def with_global_options(command: Any) -> Any:
    """The command, and all below it, with the global options, which its `--help` does not repeat.

    Where a command has an option of that name, such as `--token-file` of `login`, the command's is meant.
    """
    for below in getattr(command, "commands", {}).values():
        with_global_options(below)
    taken = {name for param in command.params for name in param.opts}
    for attribute, names in {**_FLAGS, **_VALUES}.items():
        if free := [name for name in names if name not in taken]:
            command.params.append(_option(attribute, free))
    return command


def _option(attribute: str, names: list[str]) -> TyperOption:
    named: dict[str, Any] = {"is_flag": True, "default": False} if attribute in _FLAGS else {}
    if attribute == "context":
        named["autocompletion"] = completion.contexts

    def keep(ctx: Any, param: Any, value: Any) -> None:
        if value:
            setattr(SESSION, attribute, checked_color(value) if attribute == "color" else value)

    return TyperOption(param_decls=names, hidden=True, expose_value=False, callback=keep, **named)
