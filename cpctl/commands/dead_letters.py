"""The commands `dead-letters`: messages that nobody could handle."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import typer

from cpctl.commands import change_options, get, options
from cpctl.commands.resource_changes import raise_all
from cpctl.dispatch_kinds import DEAD_LETTER
from cpctl.errors import CpctlError
from cpctl.output import Format, document, say
from cpctl.session import SESSION

dead_letters = typer.Typer(
    help="List messages that nobody could handle, replay and discard them.", no_args_is_help=True
)
Ids = Annotated[list[str], typer.Argument(metavar="ID...", help="Ids, as shown by `list`.")]


class DeadLetterState(StrEnum):
    OPEN = "open"
    REPLAYED = "replayed"
    DISCARDED = "discarded"


@dead_letters.command("list")
def list_dead_letters(
    *,
    state: Annotated[DeadLetterState, typer.Option(help="Filter by state.")] = DeadLetterState.OPEN,
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List dead letters: the open ones, unless another state is named.

    \b
    cpctl dead-letters list
    cpctl dead-letters list --state discarded -o wide
    """
    get.list_of(DEAD_LETTER, {"state": state.value}, output, headers=not no_headers, limit=limit)


@dead_letters.command("get")
@dead_letters.command("show", hidden=True)
def get_dead_letter(dead_letter: change_options.Id, *, output: options.Output = Format.YAML) -> None:
    """Show a dead letter with its payload.

    \b
    cpctl dead-letters get 019a9f5e-7c00-7000-8000-000000000031
    """
    item = get.find(SESSION.api(), DEAD_LETTER, dead_letter)
    if output.is_whole:
        say(*document(item, output))
    else:
        get.show(DEAD_LETTER, [item], output)


@dead_letters.command("replay")
def replay(
    dead_letters: Ids,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Send dead letters again, after the cause has been removed.

    \b
    cpctl dead-letters replay 019a9f5e-7c00-7000-8000-000000000031
    """
    _settle("replay", dead_letters, options.ChangeOptions(message, dry_run, yes), output)


@dead_letters.command("discard")
def discard(
    dead_letters: Ids,
    *,
    message: options.Message = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Discard dead letters. They stay in the list `--state discarded`.

    \b
    cpctl dead-letters discard 019a9f5e-7c00-7000-8000-000000000031 -m "An old test"
    """
    _settle("discard", dead_letters, options.ChangeOptions(message, dry_run, yes), output)


def _settle(verb: str, ids: list[str], change: options.ChangeOptions, how: Format) -> None:
    question = ids[0] if len(ids) == 1 else f"{len(ids)} dead letters"
    change.ask(f"{verb.capitalize()} {question}?")
    api = SESSION.api()
    settled: list[Any] = []
    failures: list[CpctlError] = []
    for dead_letter in dict.fromkeys(ids):
        path = f"{change_options.path_of(DEAD_LETTER, dead_letter)}:{verb}"
        try:
            settled.append(api.post(path, query=change.query()).json())
        except CpctlError as error:
            failures.append(error)
    if settled:
        get.show(DEAD_LETTER, settled, how)
    raise_all(failures)
