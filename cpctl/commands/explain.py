"""The command `explain`: effective values with the scopes that set them, and schemas of resource types."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpctl import schemas
from cpctl.commands import options
from cpctl.errors import NotFound, UsageError
from cpctl.ladders import Rung, ladder_lines, pointer_of, rungs, stated_by_pointer
from cpctl.nearest_names import nearest
from cpctl.output import Format, document, say
from cpctl.pending_changes import pending_lines
from cpctl.scopes import scope_text
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Api


def explain(
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[effective|schema] [TYPE[.FIELD…]]",
            help="What to explain: the value, or with `schema` its type and limits.",
        ),
    ] = None,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    as_of: options.AsOf = "",
    flyte: Annotated[bool, typer.Option("--flyte", help="Apply FlyteAdmin's rules.")] = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Explain the effective values at a scope: which scopes set them, and which values they shadow.

    `explain schema` explains what can be set: fields, their types and limits.

    \b
    cpctl explain -p flytesnacks -d development -w train
    cpctl explain effective -p flytesnacks -d development taskResources.limits.cpu
    cpctl explain schema taskResources.limits
    """
    api = SESSION.api()
    if what and what[0] == "schema":
        return _explain_schema(api, _path(what), as_of, output)
    scope = options.scope_of((project, domain, workflow, launch_plan))
    name, pointer = pointer_of(_path(what or []))
    query = {**scope, "as_of": as_of, "resource_type": _type_named(api, name)}
    answer = api.get("overrides/effective", {**query, "strategy": "flyte" if flyte else ""}).json()
    if output.is_whole:
        return say(*document(answer, output))
    any_printed = any([_show_type(effective, scope, pointer) for effective in answer["items"]])
    if not as_of:
        _show_pending(api, {**scope, "resource_type": query["resource_type"]}, pointer)
    if not any_printed and pointer:
        suggestion = _nearest_field(api, query, name, pointer)
        raise NotFound(f"{name}{pointer} is not set at {scope_text(scope)} or above.{suggestion}")
    if not any_printed:
        SESSION.tell(f"Nothing is set at {scope_text(scope)} or above.")
    return None


def _path(what: list[str]) -> str:
    words = what[1:] if what[:1] in (["effective"], ["schema"]) else what
    if len(words) > 1:
        raise UsageError(
            "Specify one value, one type, or nothing to explain all.",
            hint="cpctl explain taskResources.limits.cpu",
        )
    return words[0] if words else ""


def _explain_schema(api: Api, words: str, as_of: str, how: Format) -> None:
    """Print the schema of a resource type, or of a field of it."""
    name, pointer = pointer_of(words)
    if not name:
        raise UsageError("Specify a resource type.", hint="cpctl get resource-types")
    resource_type = api.get(f"resource-types/{_type_named(api, name)}", {"as_of": as_of}).json()
    schema = schemas.within(resource_type["schema"], [part for part in pointer.split("/") if part])
    if schema is None:
        raise NotFound(
            f"{resource_type['name']} has no field {pointer}.{_similar(resource_type, name, pointer)}",
            hint=f"cpctl explain schema {name}",
        )
    if how.is_whole:
        return say(*document(schema, how))
    if not pointer:
        say(
            f"{resource_type['title']}: {resource_type['meaning']}",
            f"Levels: {', '.join(resource_type['levels'])}",
            "",
        )
    return say(*schemas.lines(f"{resource_type['name']}{pointer}", schema))


def _nearest_field(api: Api, query: dict[str, str], name: str, pointer: str) -> str:
    """Return what may have been meant by a field that the type does not have; nothing for its fields."""
    resource_type = api.get(f"resource-types/{query['resource_type']}", {"as_of": query["as_of"]}).json()
    if schemas.within(resource_type["schema"], pointer.strip("/").split("/")) is not None:
        return ""
    return _similar(resource_type, name, pointer)


def _similar(resource_type: dict[str, Any], name: str, pointer: str) -> str:
    fields = schemas.paths(resource_type["schema"])
    return nearest(f"{name}{pointer}".replace("/", "."), (f"{name}.{field}" for field in fields))


def _below(leaf: str, pointer: str) -> bool:
    """True if the leaf is at or below the pointer, in snake or camel case."""
    here, searched = (text.replace("_", "").lower() for text in (leaf, pointer))
    return here == searched or here.startswith(searched.rstrip("/") + "/")


def _show_type(effective: dict[str, Any], scope: dict[str, str], pointer: str) -> bool:
    """Print the values at and below the pointer, with warnings. Return False if there are none."""
    any_printed = False
    for leaf, stated in stated_by_pointer(effective).items():
        if _below(leaf, pointer):
            any_printed = _show(
                f"{effective['resource_type']} {leaf}", rungs(scope, stated, silent=bool(pointer))
            )
    for warning in effective.get("warnings", ()):
        if _below(warning["pointer"], pointer):
            say(f"Warning: {effective['resource_type']} {warning['pointer']}: {warning['message']}")
    return any_printed


def _show_pending(api: Api, query: dict[str, str], pointer: str) -> None:
    """Print until when values apply, and what follows."""
    filters = {name: value or None for name, value in query.items()}
    for change in api.items("override-changes", {**filters, "affecting": True}):
        for line in pending_lines(change, lambda leaf: _below(leaf, pointer)):
            say(f"Scheduled: {line}")


def _show(title: str, ladder: list[Rung]) -> bool:
    for line in ladder_lines(title, ladder, SESSION.paint()):
        say(line)
    say("")
    return True


def _type_named(api: Api, name: str) -> str:
    """Return the type's name, given its name or its key in documents."""
    if not name:
        return ""
    types: list[Any] = api.get("resource-types").json()["items"]
    for resource_type in types:
        if name in (resource_type["name"], resource_type["document_key"]):
            return str(resource_type["name"])
    names = [str(resource_type["name"]) for resource_type in types]
    suggestion = nearest(name, [*names, *(str(resource_type["document_key"]) for resource_type in types)])
    raise NotFound(f"Unknown resource type {name!r}.{suggestion} Resource types: {', '.join(names)}.")
