"""The commands `apply` and `diff`: compare and apply override documents."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import Annotated, Any

import typer

from cpctl import files
from cpctl.commands import options
from cpctl.errors import ApiError, UsageError
from cpctl.exits import Exit
from cpctl.output import Format, counted, document, say
from cpctl.paths import YAML
from cpctl.plans import confirmation, differs, is_empty, plan_lines, summary_line
from cpctl.session import SESSION

Paths = Annotated[
    list[str], typer.Option("-f", "--file", help="File, folder, pattern, or - for standard input.")
]
Deep = Annotated[bool, typer.Option("-R", "--recursive", help="Search subfolders too.")]
Prune = Annotated[
    bool, typer.Option("--prune", help="Delete values of this manager that are missing in the documents.")
]
PruneSelector = Annotated[
    str | None,
    typer.Option(
        "-l",
        "--selector",
        help="With --prune: delete only at projects with these labels, such as team=ml,tier!=dev.",
    ),
]
Replace = Annotated[
    bool,
    typer.Option("--replace", help="Delete all values at these scopes that are missing in the documents."),
]


class Dry(StrEnum):
    NONE = "none"
    SERVER = "server"
    CLIENT = "client"


def apply(
    *,
    file: Paths,
    recursive: Deep = False,
    project: options.Project = "",
    domain: options.Domain = "",
    manager: options.Manager = "",
    prune: Prune = False,
    selector: PruneSelector = None,
    replace: Replace = False,
    force: options.Force = False,
    confirm: options.Confirm = "",
    override_freeze: options.OverrideFreeze = "",
    approval_override: options.ApprovalOverride = "",
    message: options.Message = "",
    ticket: options.Ticket = "",
    dry_run: Annotated[Dry, typer.Option(help="client: only parse the files. server: only plan.")] = Dry.NONE,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Apply documents in one transaction, after showing the plan and asking for confirmation.

    \b
    cpctl apply -f billing.yaml
    cpctl apply -f settings/ -R --manager git --prune -p billing --dry-run=server
    cpctl apply -f settings/ -R --manager git --prune -p billing --yes
    cpctl apply -f settings/ -R --manager git --prune -l team=ml --yes
    cpctl apply -f billing.yaml --replace
    """
    bundle = files.read(file, deep=recursive)
    if dry_run is Dry.CLIENT:
        return say(f"{counted(len(files.documents(bundle)), 'document')} parsed.")
    _check_prune(manager, selector, prune=prune)
    change = options.WriteOptions(
        message, manager, force, confirm, override_freeze, approval_override, ticket
    )
    if replace:
        return _replace(
            bundle, change, dry_run=dry_run is Dry.SERVER, yes=yes, alone=not (prune or project or domain)
        )
    scope = options.scope_of((project, domain, "", ""))
    query = change.query(prune=prune, selector=selector, **scope)
    plan = planned(bundle, query)
    _show(plan, output)
    if dry_run is Dry.SERVER or is_empty(plan):
        return None
    SESSION.confirm(f"Apply this? It affects {counted(plan['affected_scopes'], 'scope')}.", yes=yes)
    if not yes:
        # The plan was confirmed at the terminal.
        query["confirm"] = confirmation(plan)
    done = _send(bundle, query)
    return SESSION.tell(f"Applied as revision {done['revision']}: {summary_line(done)}")


def _replace(
    bundle: files.Bundle, change: options.WriteOptions, *, alone: bool, dry_run: bool, yes: bool
) -> None:
    if not alone:
        raise UsageError("--replace uses the scopes in the documents. Omit --prune, -p and -d.")
    from cpctl.commands.replace import replace_documents

    with _places(bundle.place):
        replace_documents(bundle, change, dry_run=dry_run, yes=yes)


def diff(
    *,
    file: Paths,
    recursive: Deep = False,
    project: options.Project = "",
    domain: options.Domain = "",
    manager: options.Manager = "",
    prune: Prune = False,
    selector: PruneSelector = None,
    force: options.Force = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Show the changes that `apply` would make. Exits with 0 if none, 1 if some, 2 or more on an error.

    \b
    cpctl diff -f billing.yaml
    cpctl diff -f settings/ -R --manager git --prune
    """
    bundle = files.read(file, deep=recursive)
    _check_prune(manager, selector, prune=prune)
    scope = options.scope_of((project, domain, "", ""))
    change = options.WriteOptions("", manager, force)
    plan = planned(bundle, change.query(prune=prune, selector=selector, **scope))
    _show(plan, output, managers=False)
    if differs(plan):
        raise typer.Exit(Exit.DIFFERS)


def _check_prune(manager: str, selector: str | None, *, prune: bool) -> None:
    if selector is not None and not prune:
        raise UsageError("-l limits what --prune deletes. Add --prune.")
    if selector is not None and not selector.strip(", "):
        # Perhaps a variable of a script that is not set: that must not prune everything.
        raise UsageError("The selector of -l is empty.", hint="-l team=ml")
    if prune and not manager:
        raise UsageError("--prune deletes values of a manager. Add --manager NAME.")


def planned(bundle: files.Bundle, query: dict[str, Any]) -> Any:
    return _send(bundle, {**query, "dry_run": True})


def confirm_plan(plan: Any, question: str, how: Format, *, yes: bool) -> bool:
    """Show a plan and ask for confirmation. Return False if it is empty."""
    _show(plan, how)
    if is_empty(plan):
        return False
    SESSION.confirm(f"{question} It affects {counted(plan['affected_scopes'], 'scope')}.", yes=yes)
    return True


def show_plan(plan: Any, how: Format) -> None:
    _show(plan, how)


def _show(plan: Any, how: Format, *, managers: bool = True) -> None:
    if how.is_whole:
        return say(*document(plan, how))
    for line in plan_lines(plan, SESSION.paint(), managers=managers):
        say(line)
    return None


def _send(bundle: files.Bundle, query: dict[str, Any]) -> Any:
    with waiting("Comparing" if query.get("dry_run") else "Applying"), _places(bundle.place):
        return SESSION.api().post("overrides:apply", bundle.text, query=query, media=YAML).json()


@contextmanager
def waiting(what: str) -> Iterator[None]:
    """Show progress during a long call, if the output is a terminal."""
    import sys

    if SESSION.quiet or not sys.stderr.isatty():
        yield
        return
    from rich.console import Console

    with Console(stderr=True).status(f"{what} …"):
        yield


@contextmanager
def _places(place: Callable[[int], tuple[str, int]]) -> Iterator[None]:
    """Replace line numbers of the whole text by files and their lines in errors."""
    try:
        yield
    except ApiError as error:
        errors = []
        for field_error in error.errors:
            located = dict(field_error)
            if located.get("line"):
                located["file"], located["line"] = place(int(located["line"]))
            errors.append(located)
        error.errors = errors
        raise
