"""The commands `get` and `describe`: read objects of any kind."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpctl import completion
from cpctl.columns import Kind
from cpctl.commands import options, output_options
from cpctl.errors import NotFound, UsageError
from cpctl.kinds import kind_named
from cpctl.output import FORMATS, Format, document, say
from cpctl.page_output import ChangedRows, chunks, first_and_rest, print_pages
from cpctl.paths import YAML
from cpctl.paths import segment as path_segment
from cpctl.scopes import scope_text
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Api

_WITHOUT_PAGES = ("resource-types", "identity-providers")
# Kinds whose name is no plural.
_WORDS = {"audit": "audit records"}
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
    level: Annotated[str, typer.Option(help="Filter overrides by level, such as project.")] = "",
    manager: Annotated[str, typer.Option("--manager", help="Filter overrides by manager.")] = "",
    changed_by: Annotated[
        str, typer.Option(help="Filter overrides by the principal who last changed them.")
    ] = "",
    search: Annotated[str, typer.Option("--search", help="Filter by text.")] = "",
    value: Annotated[
        str, typer.Option(help="Filter overrides by a value that they set, such as limits.cpu=4.")
    ] = "",
    sort: options.Sort = "",
    environment: Annotated[str, typer.Option(help="Filter agents by environment.")] = "",
    service_type: options.ServiceType = "",
    state: options.State = "",
    selector: options.Selector = "",
    output: output_options.OutputOrFile = Format.TABLE,
    no_headers: options.NoHeaders = False,
    limit: options.Limit = None,
    watch: Annotated[bool, typer.Option("--watch", help="Follow changes.")] = False,
) -> None:
    """List objects, or get one by name.

    \b
    cpctl get overrides -p flytesnacks -d development
    cpctl get overrides -p flytesnacks -d development -w W -o file.yaml
    cpctl get overrides --manager git --search gpu --sort=-changed_at
    cpctl get overrides --value limits.cpu=4
    cpctl get agents --state unavailable -o name
    cpctl get sinks --search pager --sort state,-created_at
    cpctl get projects flytesnacks -o json
    """
    object_kind = kind_named(kind)
    names = (project, domain, workflow, launch_plan)
    if output.file:
        return _to_file(object_kind, names, as_of, output.file)
    if name:
        return _show_one(object_kind, name, names, as_of, output)
    filters = {
        **dict(zip(("project", "domain", "workflow", "launch_plan"), names, strict=True)),
        **{"as_of": as_of, "resource_type": resource_type, "level": level},
        **{"managed_by": manager, "changed_by": changed_by, "q": search, "value": value, "sort": sort},
        **{"environment": environment, "service_type": service_type, _state_of(object_kind): state},
        "selector": selector,
    }
    query = _filters(object_kind, filters)
    if watch:
        return _watch(SESSION.api(), object_kind, query, output, headers=not no_headers)
    api = SESSION.api()
    pages = _pages(api, object_kind, query, limit)
    if object_kind.name == "overrides":
        pages = _checked_scope(api, query, pages)
    return show_pages(object_kind, pages, output, headers=not no_headers)


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
    """Show all details of one object.

    \b
    cpctl describe agent prod-eu-1
    cpctl describe override task_resource -p flytesnacks -d development
    """
    _show_one(kind_named(kind), name, (project, domain, workflow, launch_plan), as_of, output)


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
    """Print a list page by page."""
    first, coming = first_and_rest(pages)
    if not first and how in (Format.TABLE, Format.WIDE):
        return SESSION.tell(f"No {_WORDS.get(kind.name, kind.name.replace('-', ' '))} found.")
    return print_pages(chunks(kind.columns, coming, how=how, name_of=kind.label, headers=headers))


def find(api: Api, kind: Kind, name: str, query: dict[str, Any] | None = None) -> Any:
    """Return one object by its key. Agents are found by id or name."""
    if kind.name == "agents" and not is_id(name):
        for agent in api.items(kind.path, {"q": name}):
            if agent["name"] == name:
                return agent
        raise NotFound(f"The agent {name!r} does not exist.", hint="cpctl get agents")
    if not kind.key:
        raise UsageError(f"{kind.name} cannot be read one by one.", hint=f"cpctl get {kind.name}")
    place = "/".join(map(path_segment, name.split("/"))) if kind.in_parts else path_segment(name)
    return api.get(f"{kind.path}/{place}", query).json()


def is_id(name: str) -> bool:
    return len(name) == 36 and name.count("-") == 4


def _filters(kind: Kind, filters: dict[str, str]) -> dict[str, str]:
    """Return the filters that are set. Raises UsageError if the kind does not support one."""
    set_filters = {name: value for name, value in filters.items() if value}
    if strange := [name for name in set_filters if name not in kind.filters | _common(kind)]:
        names = ", ".join(filter_name.replace("_", "-") for filter_name in strange)
        raise UsageError(f"{kind.name} cannot be filtered by {names}.")
    return set_filters


def _common(kind: Kind) -> frozenset[str]:
    """Return the filters of nearly all lists; the server refuses them where there are none."""
    return frozenset() if kind.name in _WITHOUT_PAGES else frozenset({"q", "sort"})


def _state_of(kind: Kind) -> str:
    """Return the filter by state: agents have another name for it."""
    return "state" if "state" in kind.filters else "health_status"


def _pages(api: Api, kind: Kind, query: dict[str, str], limit: int | None = None) -> Iterable[list[Any]]:
    if kind.name in _WITHOUT_PAGES:
        return [list(api.get(kind.path, query).json()["items"])[:limit]]
    return api.pages(kind.path, query, most=limit)


def _checked_scope(api: Api, query: Mapping[str, str], pages: Iterable[list[Any]]) -> Iterator[list[Any]]:
    """Yield the pages. Raises if there are no items because the project or domain does not exist."""
    is_first = True
    for page in pages:
        if is_first and not page and "as_of" not in query:
            for segment in {"project", "domain"} & query.keys():
                # Raises ApiError with the code, such as unknown_project.
                api.get(f"scopes/{segment}s/{path_segment(query[segment])}")
        is_first = False
        yield page


def _show_one(kind: Kind, name: str, names: Sequence[str], as_of: str, how: Format) -> None:
    query: dict[str, Any] = {}
    if kind.name == "overrides":
        query = {**options.scope_of(names), "as_of": as_of}
    item = find(SESSION.api(), kind, name, query)
    if how.is_whole:
        say(*document(item, how))
    else:
        show(kind, [item], how)


def _to_file(kind: Kind, names: Sequence[str], as_of: str, path: str) -> None:
    """Write the overrides document of a scope (RFC 3749) to a file."""
    from cpctl import files

    if kind.name != "overrides" or not path.endswith((".yaml", ".yml", ".json")):
        formats = ", ".join(FORMATS)
        raise UsageError(
            f"Invalid -o. Use one of {formats}; for overrides also a file that ends with .yaml or .json."
        )
    scope = options.scope_of(names)
    accept = "application/json" if path.endswith(".json") else YAML
    answer = SESSION.api().get("overrides/document", {**scope, "as_of": as_of}, accept=accept)
    files.write(answer.text, path)
    SESSION.tell(f"Document of {scope_text(scope)} written to {path}.")


def _watch(api: Api, kind: Kind, query: dict[str, str], how: Format, *, headers: bool) -> None:
    """Print all objects, then those that change."""
    from cpctl import event_stream

    if not kind.object_type:
        raise UsageError(f"{kind.name} cannot be watched.", hint="cpctl events --watch")
    # Read the number before the list: a change between the two is then printed twice, but not missed.
    after = event_stream.last_seq(api)
    items = list(chain.from_iterable(_pages(api, kind, query)))
    printed = {kind.label(item): item for item in items}
    show_changed = ChangedRows(kind.columns, how, kind.label, headers=headers)
    show_changed(items)
    for _ in event_stream.watch(api, {"object_type": kind.object_type}, after=after):
        changed = [
            item
            for item in chain.from_iterable(_pages(api, kind, query))
            if printed.get(kind.label(item)) != item
        ]
        printed |= {kind.label(item): item for item in changed}
        show_changed(changed)
