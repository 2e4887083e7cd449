"""The scope tree, with the number of overrides at and below each scope."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from django.db.models import Count, Q, QuerySet

from console import filter_choices
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from controlplane.scopes import SEGMENTS, Scope
from overrides.models import Override

# With more projects, users filter instead of scrolling.
_MAX_PROJECTS = 200
_MAX_SCOPES = 500
# Projects that a filter opens, since the name of a workflow or launch plan below matches.
_MAX_OPENED = 20


@dataclass(frozen=True, slots=True)
class Node:
    """A node. own: overrides at this scope. below: at and below it. heading: shown above the node."""

    label: str
    scope: Scope
    own: int
    below: int
    children: tuple[Node, ...] = ()
    heading: str = ""
    is_current: bool = False
    is_open: bool = False


@dataclass(frozen=True, slots=True)
class Tree:
    """The nodes at the top. hidden_projects: how many more projects there are than the tree shows."""

    nodes: Sequence[Node]
    hidden_projects: int = 0


@dataclass(frozen=True, slots=True)
class _Numbers:
    """Overrides at each scope, at and below each scope, and the scopes directly below each scope."""

    own: Counter[Scope]
    below: Counter[Scope]
    children: Mapping[Scope, Sequence[Scope]]


def scope_tree(caller: Caller, current: Scope, *, only_set: bool, text: str = "") -> Tree:
    """Return the tree that the caller can read; projects other than the current one are collapsed.

    text: only nodes whose name contains it, and what is above and below them.
    """
    rows = Override.objects.within(caller.scopes_for(Action.OVERRIDE_READ))
    opened = {current.project, *_projects_with(rows, text)} - {""}
    counted = _count_by(rows.filter(project=""), "domain") + _count_by(rows.exclude(project=""), "project")
    for project in opened:
        del counted[Scope(project=project)]
    deep = rows.filter(project__in=opened).values(*SEGMENTS).annotate(count=Count("pk"))
    counted.update({Scope(**_segments(row)): row["count"] for row in deep.order_by(*SEGMENTS)[:_MAX_SCOPES]})
    below = _below(counted, opened)
    if current.project:
        domains = [Scope(domain=name, project=current.project) for name in filter_choices.domains()]
        below.update(dict.fromkeys([*_parents(current), *domains], 0))
    names = _projects(caller, opened, text)
    roots = [Scope(), *map(_domain, filter_choices.domains()), *map(_project, names[:_MAX_PROJECTS])]
    numbers = _Numbers(counted, below, _children(below))
    nodes = [_node(root, numbers, current) for root in roots]
    shown = [node for node in nodes if node.below or node.is_current or node.is_open or not only_set]
    return Tree(_add_headings(matching(shown, text)), max(0, len(names) - _MAX_PROJECTS))


def matching(nodes: Iterable[Node], text: str) -> list[Node]:
    """Return the nodes whose name contains the text, what is below them, and what leads to them, opened."""
    if not text:
        return list(nodes)
    return [match for node in nodes if (match := _match(node, text.lower()))]


def _match(node: Node, text: str) -> Node | None:
    children = tuple(match for child in node.children if (match := _match(child, text)))
    if children:
        return replace(node, children=children, is_open=True)
    return node if text in node.label.lower() else None


def _projects_with(rows: QuerySet[Override], text: str) -> list[str]:
    """Return projects with overrides at a workflow or launch plan whose name contains the text."""
    if not text:
        return []
    named = rows.filter(Q(workflow__icontains=text) | Q(launch_plan__icontains=text)).exclude(project="")
    return list(named.order_by("project").values_list("project", flat=True).distinct()[:_MAX_OPENED])


def _projects(caller: Caller, opened: set[str], text: str) -> list[str]:
    """Return the projects of the tree: those that the filter can keep, whatever their place in the list."""
    readable = filter_choices.projects(caller)
    names = [name for name in readable if name in opened or text.lower() in name.lower()]
    first = names[:_MAX_PROJECTS]
    late = [name for name in opened.intersection(readable) if name not in first]
    return [*late, *(name for name in names if name not in late)] if late else names


def _domain(name: str) -> Scope:
    return Scope(domain=name)


def _project(name: str) -> Scope:
    return Scope(project=name)


def _add_headings(nodes: Iterable[Node]) -> list[Node]:
    """Add headings to the first domain and the first project, which share a level of the tree."""
    headed: list[Node] = []
    for node in nodes:
        heading = "Projects" if node.scope.project else "Domains" if node.scope.domain else ""
        is_first = heading and heading not in {node.heading for node in headed}
        headed.append(replace(node, heading=heading) if is_first else node)
    return headed


def _count_by(rows: QuerySet[Override], segment: str) -> Counter[Scope]:
    groups = rows.order_by(segment).values(segment).annotate(count=Count("pk"))
    return Counter({Scope(**{segment: group[segment]}): group["count"] for group in groups[:1000]})


def _segments(row: dict[str, str]) -> dict[str, str]:
    return {name: row[name] for name in SEGMENTS}


def _below(counted: Counter[Scope], opened: set[str]) -> Counter[Scope]:
    """Count overrides at and below each scope. Collapsed projects have only a sum."""
    totals: Counter[Scope] = Counter()
    for scope, count in counted.items():
        is_sum = bool(scope.project) and scope.project not in opened
        for above in {scope} if is_sum or not scope.project else _parents(scope):
            totals[above] += count
    return totals


def _parents(scope: Scope) -> set[Scope]:
    """Return the scope and its ancestors in the tree: a project's domain is a child of the project."""
    return {rung for rung in scope.ladder() if rung.project}


def _children(scopes: Iterable[Scope]) -> dict[Scope, list[Scope]]:
    """Group the scopes within projects by the scope that is directly above in the tree."""
    children: dict[Scope, list[Scope]] = defaultdict(list)
    for scope in sorted(scopes, key=lambda scope: scope.path):
        set_below = [name for name in ("launch_plan", "workflow", "domain") if scope.segments[name]]
        if scope.project and set_below:
            children[replace(scope, **{set_below[0]: ""})].append(scope)
    return children


def _node(scope: Scope, numbers: _Numbers, current: Scope) -> Node:
    return Node(
        _label(scope),
        scope,
        numbers.own[scope],
        numbers.below[scope],
        tuple(_node(child, numbers, current) for child in numbers.children.get(scope, ())),
        is_current=scope == current,
        is_open=scope != Scope() and scope.covers(current) and _is_expanded(scope, current),
    )


def _is_expanded(scope: Scope, current: Scope) -> bool:
    return bool(scope.project) or not current.project


def _label(scope: Scope) -> str:
    return (
        scope.launch_plan or scope.workflow or (scope.domain if scope.domain else scope.project) or "global"
    )
