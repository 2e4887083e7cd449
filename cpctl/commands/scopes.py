"""The commands `projects` and `domains`."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any

import typer

from cpctl import completion
from cpctl.commands import change_options, get, options
from cpctl.errors import UsageError
from cpctl.kinds import kind_named
from cpctl.output import Format
from cpctl.session import SESSION

projects = typer.Typer(help="List, create and update projects.", no_args_is_help=True)
domains = typer.Typer(help="List and create domains.", no_args_is_help=True)
NewId = Annotated[
    str, typer.Argument(metavar="ID", help="Id of lower-case letters, digits and inner hyphens.")
]
Project = Annotated[str, typer.Argument(metavar="ID", autocompletion=completion.projects)]
Title = Annotated[str, typer.Option("--name", help="Display name.")]
Description = Annotated[str, typer.Option(help="Description.")]
Labels = Annotated[list[str] | None, typer.Option("--label", help="Label, such as team=ml. Repeatable.")]


class State(StrEnum):
    ACTIVE = "active"
    ARCHIVED = "archived"


@projects.command("list")
def list_projects(
    *,
    selector: options.Selector = "",
    search: options.Search = "",
    sort: options.Sort = "",
    output: options.Output = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
) -> None:
    """List projects.

    \b
    cpctl projects list -o wide
    cpctl projects list -l team=ml
    """
    query = {"selector": selector, "q": search, "sort": sort}
    get.list_of(kind_named("projects"), query, output, headers=not no_headers, limit=limit)


@projects.command("create")
def create_project(
    project: NewId,
    *,
    name: Title = "",
    description: Description = "",
    label: Labels = None,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a project.

    \b
    cpctl projects create recommender --label team=ml
    """
    body = change_options.non_empty(id=project, name=name, description=description, labels=_labels(label))
    change = options.ChangeOptions("", dry_run, yes)
    change_options.create(
        kind_named("projects"), body, change, output, question=f"Create the project {project}?"
    )


@projects.command("update")
def update_project(
    project: Project,
    *,
    name: Title = "",
    description: Description = "",
    label: Labels = None,
    state: Annotated[
        State | None, typer.Option(help="State: active, or archived to stop executions.")
    ] = None,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Update a project's name, description, state or labels. All labels are replaced.

    \b
    cpctl projects update recommender --label team=ml
    cpctl projects update recommender --state archived
    """
    body = change_options.non_empty(name=name, description=description, labels=_labels(label), state=state)
    if not body:
        raise UsageError(
            "Specify at least one field to change.", hint=f"cpctl projects update {project} --name NAME"
        )
    kind = kind_named("projects")
    change = options.ChangeOptions("", dry_run, yes)
    change.ask(f"Update the project {project}?")
    path = change_options.path_of(kind, project)
    done: Any = SESSION.api().send("PATCH", path, body, query=change.query()).json()
    get.show(kind, [done], output)


@domains.command("list")
def list_domains(*, output: options.Output = Format.TABLE, no_headers: options.NoHeaders = False) -> None:
    """List domains.

    \b
    cpctl domains list
    """
    get.list_of(kind_named("domains"), {}, output, headers=not no_headers)


@domains.command("create")
def create_domain(
    domain: NewId,
    *,
    name: Title = "",
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Create a domain.

    \b
    cpctl domains create qa --name "Quality assurance"
    """
    body = change_options.non_empty(id=domain, name=name)
    change = options.ChangeOptions("", dry_run, yes)
    change_options.create(
        kind_named("domains"), body, change, output, question=f"Create the domain {domain}?"
    )


def _labels(written: Sequence[str] | None) -> dict[str, str] | None:
    pairs = [label.partition("=") for label in written or ()]
    if wrong := [key for key, sign, _ in pairs if not (key and sign)]:
        raise UsageError(f"Invalid label {wrong[0]!r}. Use KEY=VALUE.")
    return {key: value for key, _, value in pairs} or None
