"""`get` and `describe`: read anything."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpctl import completion
from cpctl.columns import Kind
from cpctl.commands import options, output_options
from cpctl.errors import NotFound, UsageError
from cpctl.kinds import kind_named
from cpctl.output import FORMATS, Format, document, one_of_many, say, table
from cpctl.page_output import chunks, first_and_rest, print_pages
from cpctl.paths import YAML, segment
from cpctl.scopes import scope_text
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Api

KindName = Annotated[str, typer.Argument(metavar="KIND", autocompletion=completion.kinds)]


def get(
    *,
    kind: KindName,
    name: Annotated[str, typer.Argument(metavar="[NAME]", autocompletion=completion.names)] = "",
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    as_of: options.AsOf = "",
    resource_type: Annotated[
        str, typer.Option("--type", help="Resource type.", autocompletion=completion.types)
    ] = "",
    level: Annotated[str, typer.Option(help="Only overrides at this level, such as project.")] = "",
    manager: Annotated[str, typer.Option("--manager", help="Only overrides that this manager manages.")] = "",
    changed_by: Annotated[str, typer.Option(help="Only overrides that this principal changed last.")] = "",
    search: Annotated[str, typer.Option("--search", help="Only overrides and agents with this text.")] = "",
    sort: options.Sort = "",
    environment: Annotated[str, typer.Option(help="Only agents of this environment.")] = "",
    service_type: options.ServiceType = "",
    state: options.State = "",
    selector: options.Selector = "",
    output: output_options.OutputOrFile = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
    watch: Annotated[bool, typer.Option("--watch", help="Go on, and show what changes.")] = False,
) -> None:
    """List things, or show one.

    \b
    cpctl get overrides -p flytesnacks -d development
    cpctl get overrides -p flytesnacks -d development -w W -o file.yaml
    cpctl get overrides --manager git --search gpu --sort=-changed_at
    cpctl get agents --state unavailable -o name
    cpctl get projects flytesnacks -o json
    """
    wanted = kind_named(kind)
    names = (project, domain, workflow, launch_plan)
    if output.file:
        return _to_file(wanted, names, as_of, output.file)
    if name:
        return _one(wanted, name, names, as_of, output)
    filters = {
        **dict(zip(("project", "domain", "workflow", "launch_plan"), names, strict=True)),
        **{"as_of": as_of, "resource_type": resource_type, "level": level},
        **{"managed_by": manager, "changed_by": changed_by, "q": search, "sort": sort},
        **{"environment": environment, "service_type": service_type, "health_status": state},
        "selector": selector,
    }
    query = _filters(wanted, filters)
    if watch:
        return _watch(SESSION.api(), wanted, query, output)
    return show_pages(wanted, _pages(SESSION.api(), wanted, query, limit), output, headers=not no_headers)


def describe(
    *,
    kind: KindName,
    name: Annotated[str, typer.Argument(metavar="NAME", autocompletion=completion.names)],
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    as_of: options.AsOf = "",
    output: options.Output = Format.YAML,
) -> None:
    """Show everything about one thing.

    \b
    cpctl describe agent prod-eu-1
    cpctl describe override task_resource -p flytesnacks -d development
    """
    _one(kind_named(kind), name, (project, domain, workflow, launch_plan), as_of, output)


def list_of(
    kind: Kind,
    query: Mapping[str, Any],
    how: Format,
    *,
    headers: bool = True,
    limit: int | None = None,
) -> None:
    show_pages(kind, SESSION.api().pages(kind.path, query, most=limit), how, headers=headers)


def show(kind: Kind, items: Sequence[Any], how: Format, *, headers: bool = True) -> None:
    show_pages(kind, [items], how, headers=headers)


def show_pages(kind: Kind, pages: Iterable[Sequence[Any]], how: Format, *, headers: bool = True) -> None:
    """Print a list while its pages come."""
    first, coming = first_and_rest(pages)
    if not first and how in (Format.TABLE, Format.WIDE):
        return SESSION.tell(f"No {kind.name} found.")
    return print_pages(chunks(kind.columns, coming, how=how, name_of=kind.label, headers=headers))


def find(api: Api, kind: Kind, name: str, query: dict[str, Any] | None = None) -> Any:
    """One thing. Agents are asked for by id, and found by name too."""
    if kind.name == "agents" and not is_id(name):
        for agent in api.items(kind.path, {"q": name}):
            if agent["name"] == name:
                return agent
        raise NotFound(f"There is no agent {name!r}.", hint="cpctl get agents")
    if not kind.key:
        raise UsageError(f"There is no asking for one of {kind.name}.", hint=f"cpctl get {kind.name}")
    place = "/".join(segment(part) for part in name.split("/")) if kind.in_parts else segment(name)
    return api.get(f"{kind.path}/{place}", query).json()


def is_id(name: str) -> bool:
    return len(name) == 36 and name.count("-") == 4


def _filters(kind: Kind, said: dict[str, str]) -> dict[str, str]:
    """The filters that were given. Raises UsageError where the kind does not take one."""
    given = {name: value for name, value in said.items() if value}
    if strange := [name for name in given if name not in kind.filters]:
        shown = ", ".join(one.replace("_", "-") for one in strange)
        raise UsageError(f"{kind.name} cannot be filtered by {shown}.")
    return given


def _pages(api: Api, kind: Kind, query: dict[str, str], limit: int | None = None) -> Iterable[list[Any]]:
    if kind.name == "resource-types":
        # They come in one answer, and know no pages.
        return [list(api.get(kind.path, query).json()["items"])[:limit]]
    return api.pages(kind.path, query, most=limit)


def _one(kind: Kind, name: str, names: Sequence[str], as_of: str, how: Format) -> None:
    query: dict[str, Any] = {}
    if kind.name == "overrides":
        query = {**options.scope_of(names), "as_of": as_of}
    item = find(SESSION.api(), kind, name, query)
    if how.is_whole:
        say(*document(item, how))
    else:
        show(kind, [item], how)


def _to_file(kind: Kind, names: Sequence[str], as_of: str, path: str) -> None:
    """The overrides document of a scope, as Flyte's RFC 3749 has it, into a file."""
    from cpctl import files

    if kind.name != "overrides" or not path.endswith((".yaml", ".yml", ".json")):
        known = ", ".join(FORMATS)
        raise UsageError(f"-o takes {known}; for overrides also a file that ends in .yaml or .json.")
    scope = options.scope_of(names)
    accept = "application/json" if path.endswith(".json") else YAML
    answer = SESSION.api().get("overrides/document", {**scope, "as_of": as_of}, accept=accept)
    files.write(answer.text, path)
    SESSION.tell(f"What applies at {scope_text(scope)} was written to {path}.")


def _watch(api: Api, kind: Kind, query: dict[str, str], how: Format) -> None:
    """Show all, and each thing again when it changed."""
    import sys

    from cpctl import event_stream

    if not kind.object_type:
        raise UsageError(f"{kind.name} cannot be watched.", hint="cpctl events --watch")
    # The number before the list: what changes between the two is then told twice, and not missed.
    after = event_stream.last_seq(api)
    items = list(chain.from_iterable(_pages(api, kind, query)))
    known = {kind.label(item): item for item in items}
    for item in items:
        _show_changed(kind, item, how)
    sys.stdout.flush()
    for _ in event_stream.watch(api, {"object_type": kind.object_type}, after=after):
        for item in chain.from_iterable(_pages(api, kind, query)):
            if known.get(kind.label(item)) != item:
                known[kind.label(item)] = item
                _show_changed(kind, item, how)
        sys.stdout.flush()


def _show_changed(kind: Kind, item: Any, how: Format) -> None:
    """One line each, or one YAML document."""
    if how.is_whole:
        say(*one_of_many(item, how))
    else:
        shown = [column for column in kind.columns if how is Format.WIDE or not column.wide]
        say(kind.label(item) if how is Format.NAME else table(shown, [item], headers=False)[0])
