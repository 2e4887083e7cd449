"""`explain`: what applies at a scope, and why, as a ladder."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpctl.commands import options
from cpctl.errors import NotFound, UsageError
from cpctl.ladders import Rung, ladder_lines, pointer_of, rungs, stated_by_pointer
from cpctl.output import Format, document, say
from cpctl.scopes import scope_text
from cpctl.session import SESSION

if TYPE_CHECKING:
    from cpctl.client import Api


def explain(
    *,
    what: Annotated[
        list[str] | None,
        typer.Argument(metavar="[effective] [TYPE[.FIELD…]]", help="Such as taskResources.limits.cpu."),
    ] = None,
    project: options.Project = "",
    domain: options.Domain = "",
    workflow: options.Workflow = "",
    launch_plan: options.LaunchPlan = "",
    as_of: options.AsOf = "",
    flyte: Annotated[bool, typer.Option("--flyte", help="By FlyteAdmin's rules.")] = False,
    output: options.Output = Format.TABLE,
) -> None:
    """Show what applies at a scope, from where, and what lost.

    \b
    cpctl explain -p flytesnacks -d development -w train
    cpctl explain effective -p flytesnacks -d development taskResources.limits.cpu
    """
    api = SESSION.api()
    scope = options.scope_of((project, domain, workflow, launch_plan))
    name, pointer = pointer_of(_path(what or []))
    query = {**scope, "as_of": as_of, "resource_type": _type_named(api, name)}
    answer = api.get("overrides/effective", {**query, "strategy": "flyte" if flyte else ""}).json()
    if output.is_whole:
        return say(*document(answer, output))
    shown = any([_show_type(one, scope, pointer) for one in answer["items"]])
    if not shown and pointer:
        raise NotFound(f"Nothing sets {name}{pointer} at {scope_text(scope)} or above.")
    if not shown:
        SESSION.tell(f"Nothing is set at {scope_text(scope)} or above.")
    return None


def _path(what: list[str]) -> str:
    words = what[1:] if what[:1] == ["effective"] else what
    if len(words) > 1:
        raise UsageError(
            "Explain one value, one type, or all.", hint="cpctl explain taskResources.limits.cpu"
        )
    return words[0] if words else ""


def _below(leaf: str, pointer: str) -> bool:
    """Documents say maxParallelism where the API says max_parallelism: both are right here."""
    here, wanted = (text.replace("_", "").lower() for text in (leaf, pointer))
    return here == wanted or here.startswith(wanted.rstrip("/") + "/")


def _show_type(one: dict[str, Any], scope: dict[str, str], pointer: str) -> bool:
    """Print the values at and below the pointer, and what is wrong with them; False if there are none."""
    shown = False
    for leaf, stated in stated_by_pointer(one).items():
        if _below(leaf, pointer):
            shown = _show(f"{one['resource_type']} {leaf}", rungs(scope, stated, silent=bool(pointer)))
    for warning in one.get("warnings", ()):
        if _below(warning["pointer"], pointer):
            say(f"Warning: {one['resource_type']} {warning['pointer']}: {warning['message']}")
    return shown


def _show(title: str, ladder: list[Rung]) -> bool:
    for line in ladder_lines(title, ladder, SESSION.paint()):
        say(line)
    say("")
    return True


def _type_named(api: Api, name: str) -> str:
    """The type by its name, or by the key that documents use for it."""
    if not name:
        return ""
    types: list[Any] = api.get("resource-types").json()["items"]
    for one in types:
        if name in (one["name"], one["document_key"]):
            return str(one["name"])
    known = ", ".join(str(one["name"]) for one in types)
    raise NotFound(f"There is no resource type {name!r}. Known: {known}.")
