"""The program: options before the command, the commands, and errors as exit codes."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cpctl import VERSION, completion
from cpctl.errors import CpctlError, UsageError
from cpctl.exits import Exit
from cpctl.lazy import LazyGroup
from cpctl.output import forget_output, note, paint_for, say
from cpctl.session import SESSION

app = typer.Typer(
    name="cpctl",
    cls=LazyGroup,
    help=(
        "The command line of Controlplane: what applies where, and why; which agents are alive.\n\n"
        "\b\n"
        "cpctl login http://localhost:8000 --token-file .data/admin.token\n"
        "cpctl get overrides -p flytesnacks\n"
        "cpctl explain -p flytesnacks -d development -w train\n"
        "cpctl diff -f settings/ -R\n"
        "cpctl apply -f settings/ -R --yes\n"
        "cpctl get agents --watch"
    ),
    # Rich help takes longer to import than all of cpctl.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(said: bool) -> None:
    if said:
        say(f"cpctl {VERSION}")
        raise typer.Exit


@app.callback()
def before(
    *,
    context: Annotated[
        str,
        typer.Option(envvar="CPCTL_CONTEXT", help="Which context.", autocompletion=completion.contexts),
    ] = "",
    server: Annotated[str, typer.Option(envvar="CPCTL_SERVER", help="Another server.")] = "",
    token_file: Annotated[
        str, typer.Option(envvar="CPCTL_TOKEN_FILE", help="A file with the token; - is stdin.")
    ] = "",
    color: Annotated[str, typer.Option(help="auto, always or never.")] = "auto",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Say only what was asked for.")] = False,
    no_input: Annotated[bool, typer.Option("--no-input", help="Never ask.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Tell each request; never the token.")] = False,
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False,
) -> None:
    SESSION.context, SESSION.server, SESSION.token_file = context, server, token_file
    if color not in ("auto", "always", "never"):
        raise UsageError("--color is auto, always or never.")
    SESSION.color, SESSION.quiet, SESSION.no_input, SESSION.debug = color, quiet, no_input, debug


def main() -> None:
    """Run, and end with a code of cpctl.exits."""
    try:
        app(prog_name="cpctl")
    except CpctlError as error:
        sys.exit(_tell(error))
    except BrokenPipeError:
        forget_output()
        sys.exit(Exit.OK)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:
        if SESSION.debug:
            raise
        note(
            f"error: cpctl itself failed: {type(error).__name__}: {error}. Please report what --debug shows."
        )
        sys.exit(Exit.BUG)


def _tell(error: CpctlError) -> int:
    paint = paint_for(SESSION.color, sys.stderr)
    first, *more = error.lines()
    note(paint("red", "error: ") + first)
    for line in more:
        note(line)
    if error.hint:
        note(f"try: {error.hint}")
    return error.exit
