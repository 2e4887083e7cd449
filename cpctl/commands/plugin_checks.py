"""The command `plugins validate`."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from cpctl import files
from cpctl.commands import options
from cpctl.exits import Exit
from cpctl.output import Format, document, say
from cpctl.session import SESSION

Files = Annotated[list[str], typer.Argument(metavar="FILE...", help="Files, or - for standard input.")]


def validate(file: Files, *, output: options.Output = Format.TABLE) -> None:
    """Validate configurations and specifications of plugins. Exits with 2 if one is invalid.

    A file with `plugins:` is a configuration; any other one specifies a plugin.

    \b
    cpctl plugins validate plugin_config.yaml
    cpctl plugins validate optimus-plugin-bq2bq.yaml optimus-plugin-transporter.yaml
    """
    results = [(name, validated(text)) for name, text in files.texts(file)]
    for name, result in results:
        say(*(document(result, output) if output.is_whole else _lines(name, result)))
    if not all(result["valid"] for _, result in results):
        raise typer.Exit(Exit.USAGE)


def validated(text: str) -> Any:
    """Return what the server says about a document."""
    path = "plugin-config:validate" if _is_config(text) else "plugin-specs:validate"
    return SESSION.api().post(path, {"text": text}).json()


def _is_config(text: str) -> bool:
    return any(line.startswith(("plugins:", "plugins :", '"plugins"')) for line in text.splitlines())


def diagnostic_lines(name: str, result: Any) -> list[str]:
    """Return one line for each finding, and whether there are more."""
    lines = [_line(name, entry) for entry in result["diagnostics"]]
    omitted = [f"{name}: {result['omitted']} more"] if result["omitted"] else []
    return [*lines, *omitted]


def _lines(name: str, result: Any) -> list[str]:
    return [*diagnostic_lines(name, result), f"{name}: {'valid' if result['valid'] else 'invalid'}"]


def _line(name: str, entry: Any) -> str:
    place = f"{name}:{entry['line']}:{entry['column']}"
    return f"{place}: {entry['severity']}: {entry['message']} {entry['hint']}".rstrip()
