"""The program: global options, commands, and exit codes for errors."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from cpctl import VERSION, completion
from cpctl.errors import CpctlError
from cpctl.exits import Exit
from cpctl.global_options import checked_color
from cpctl.lazy import LazyGroup
from cpctl.output import forget_output, note, paint_for, say
from cpctl.session import SESSION

app = typer.Typer(
    name="cpctl",
    cls=LazyGroup,
    help=(
        "The command line of Controlplane: manage overrides, agents and agent configurations.\n\n"
        "\b\n"
        "cpctl login http://localhost:8000 --token-file .data/admin.token\n"
        "cpctl get overrides -p flytesnacks\n"
        "cpctl explain -p flytesnacks -d development -w train\n"
        "cpctl diff -f settings/ -R\n"
        "cpctl apply -f settings/ -R --yes\n"
        "cpctl get agents --watch"
    ),
    # Rich help takes longer to import than cpctl itself.
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(requested: bool) -> None:
    if requested:
        say(f"cpctl {VERSION}")
        raise typer.Exit


@app.callback()
def before(
    *,
    context: Annotated[
        str,
        typer.Option(envvar="CPCTL_CONTEXT", help="Context to use.", autocompletion=completion.contexts),
    ] = "",
    server: Annotated[
        str, typer.Option(envvar="CPCTL_SERVER", help="Server URL, instead of the context's.")
    ] = "",
    token_file: Annotated[
        str, typer.Option(envvar="CPCTL_TOKEN_FILE", help="File with the token; - for standard input.")
    ] = "",
    color: Annotated[str, typer.Option(help="Colors: auto, always or never.")] = "auto",
    quiet: Annotated[bool, typer.Option("-q", "--quiet", help="Print only results.")] = False,
    no_input: Annotated[bool, typer.Option("--no-input", help="Never prompt.")] = False,
    debug: Annotated[bool, typer.Option("--debug", help="Log each request, without the token.")] = False,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    SESSION.rehearses = False
    SESSION.context, SESSION.server, SESSION.token_file = context, server, token_file
    SESSION.color, SESSION.quiet, SESSION.no_input, SESSION.debug = (
        checked_color(color),
        quiet,
        no_input,
        debug,
    )


def main() -> None:
    """Run a command, and exit with a code of cpctl.exits."""
    try:
        app(prog_name="cpctl")
    except SystemExit as end:
        if SESSION.rehearses and not end.code:
            SESSION.tell("Dry run: nothing was changed.")
        raise
    except CpctlError as error:
        sys.exit(_print_error(error))
    except BrokenPipeError:
        forget_output()
        sys.exit(Exit.OK)
    except KeyboardInterrupt:
        sys.exit(Exit.INTERRUPTED)
    except Exception as error:
        if SESSION.debug:
            raise
        note(
            f"error: Internal error in cpctl: {type(error).__name__}: {error}. Please report it with"
            " the output of --debug."
        )
        sys.exit(Exit.BUG)


def _print_error(error: CpctlError) -> int:
    paint = paint_for(SESSION.color, sys.stderr)
    first, *more = error.lines()
    note(paint("red", "error: ") + first)
    for line in more:
        note(line)
    if error.hint:
        note(f"try: {error.hint}")
    return error.exit
