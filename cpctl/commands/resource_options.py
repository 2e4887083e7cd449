"""Options of the commands `resources`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.errors import UsageError
from cpctl.resource_waits import STATES


def _states(incomplete: str) -> list[str]:
    return [state for state in STATES if state.startswith(incomplete)]


Id = Annotated[
    str, typer.Argument(metavar="ID", help="Id of the resource.", autocompletion=completion.resources)
]
Ids = Annotated[
    list[str] | None,
    typer.Argument(metavar="[ID]...", help="Ids of resources.", autocompletion=completion.resources),
]
States = Annotated[
    list[str] | None,
    typer.Option("--state", help="Filter by state, such as failed. Repeatable.", autocompletion=_states),
]
ServiceType = Annotated[str, typer.Option(help="Filter by service type, such as vm.")]
Agent = Annotated[str, typer.Option(help="Filter by agent.", autocompletion=completion.agents)]
ShowDeleted = Annotated[bool, typer.Option("--show-deleted", help="Include deleted resources.")]
Files = Annotated[
    list[str], typer.Option("-f", "--file", help="File or folder, or - for standard input. Repeatable.")
]
# `--reason` is what it means here; `-m` is its name elsewhere.
Reason = Annotated[
    str,
    typer.Option("-m", "--message", "--reason", help="Reason, recorded in the timeline and the audit log."),
]


def query(states: Sequence[str] | None, *, show_deleted: bool = False, **filters: str) -> dict[str, Any]:
    """Return the filters as parameters of the list. Raises UsageError for an unknown state."""
    if unknown := [state for state in states or () if state not in STATES]:
        raise UsageError(f"Unknown state {unknown[0]!r}. States: {', '.join(STATES)}.")
    # The server leaves out deleted resources unless they are requested.
    show_deleted = show_deleted or "deleted" in (states or ())
    return {"state": list(states or ()), **filters, "show_deleted": show_deleted}
