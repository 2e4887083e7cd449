"""The scope tree: what there is, and how much is set at and below each scope."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, replace

from django.db.models import Count, QuerySet

from console import filter_choices
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import SEGMENTS, Scope
from overrides.models import Override

# More projects than this are found by the search, not by scrolling.
_MOST_PROJECTS = 200
_MOST_SCOPES = 500


@dataclass(frozen=True, slots=True)
class Node:
    """own: overrides set at exactly this scope. below: at it and below it. heading: of those that follow."""

    label: str
    scope: Scope
    own: int
    below: int
    children: tuple[Node, ...] = ()
    heading: str = ""
    is_current: bool = False
    is_open: bool = False


def scope_tree(caller: Caller, current: Scope, *, only_set: bool) -> list[Node]:
    """The tree as far as the caller may read; of projects other than the current one, the first rung."""
    rows = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    counted = _counted(rows.filter(project=""), "domain") + _counted(rows.exclude(project=""), "project")
    if current.project:
        del counted[Scope(project=current.project)]
        deep = rows.filter(project=current.project).values(*SEGMENTS).annotate(count=Count("pk"))
        counted.update(
            {Scope(**_segments(it)): it["count"] for it in deep.order_by(*SEGMENTS)[:_MOST_SCOPES]}
        )
    below = _below(counted, current.project)
    if current.project:
        shown = [Scope(domain=one, project=current.project) for one in filter_choices.domains()]
        below.update(dict.fromkeys([*_parents(current), *shown], 0))
    top = [Scope(domain=one) for one in filter_choices.domains()]
    projects = [Scope(project=one) for one in filter_choices.projects(caller)[:_MOST_PROJECTS]]
    roots = [Scope(), *top, *projects]
    nodes = [_node(one, counted, below, current) for one in roots]
    return _headed(one for one in nodes if one.below or one.is_current or one.is_open or not only_set)


def _headed(nodes: Iterable[Node]) -> list[Node]:
    """Domains and projects stand on one rung of the tree; the first of each says which they are."""
    found: list[Node] = []
    for one in nodes:
        kind = "Projects" if one.scope.project else "Domains" if one.scope.domain else ""
        is_first = kind and kind not in {it.heading for it in found}
        found.append(replace(one, heading=kind) if is_first else one)
    return found


def _counted(rows: QuerySet[Override], segment: str) -> Counter[Scope]:
    found = rows.order_by(segment).values(segment).annotate(count=Count("pk"))
    return Counter({Scope(**{segment: it[segment]}): it["count"] for it in found[:1000]})


def _segments(row: dict[str, str]) -> dict[str, str]:
    return {name: row[name] for name in SEGMENTS}


def _below(counted: Counter[Scope], opened: str) -> Counter[Scope]:
    """What is set at and below each scope. Of projects that are not opened only the sum is known."""
    found: Counter[Scope] = Counter()
    for scope, count in counted.items():
        is_sum = bool(scope.project) and scope.project != opened
        for above in {scope} if is_sum or not scope.project else _parents(scope):
            found[above] += count
    return found


def _parents(scope: Scope) -> set[Scope]:
    """Where the scope hangs in the tree, itself included: a project's domain hangs below the project."""
    return {rung for rung in scope.ladder() if rung.project}


def _node(scope: Scope, counted: Counter[Scope], below: Counter[Scope], current: Scope) -> Node:
    children = [one for one in below if _hangs_below(one, scope)]
    is_open = scope != Scope() and scope.covers(current) and _opens(scope, current)
    node = Node(_label(scope), scope, counted[scope], below[scope])
    nodes = tuple(_node(one, counted, below, current) for one in sorted(children, key=lambda one: one.path))
    return replace(node, children=nodes, is_current=scope == current, is_open=is_open)


def _opens(scope: Scope, current: Scope) -> bool:
    return bool(scope.project) or not current.project


def _hangs_below(one: Scope, scope: Scope) -> bool:
    """Whether the scope is one rung below in the tree."""
    if not scope.project or one == scope or not scope.covers(one):
        return False
    return sum(map(bool, one.path)) == sum(map(bool, scope.path)) + 1


def _label(scope: Scope) -> str:
    return (
        scope.launch_plan or scope.workflow or (scope.domain if scope.domain else scope.project) or "global"
    )
