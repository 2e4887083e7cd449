"""Load the rows of one resource type that are related to a change: its ancestors and its descendants.

In addition there are crossing rows: a change at a domain combines with the rows of projects (and the other
way round) at every project-domain pair, even if nothing is set at the pair itself.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from typing import Any

from django.db import connection

from controlplane.database.bulk import recordset
from controlplane.database.scoped import as_row
from controlplane.scopes import Level, Scope, by_project
from overrides.models import Domain, Project

# The attributes as Postgres writes jsonb: equal texts are equal documents.
RelatedRows = dict[Scope, str]
_SELECT = (
    "SELECT o.project, o.domain, o.workflow, o.launch_plan, o.attributes::text FROM overrides_override o"
)
_KEYS = "json_to_recordset(%s::json) AS k (p text, d text, w text, l text)"
_OF_TYPE = "o.resource_type = %s"


def load_related_rows(
    resource_type: str, changed: Sequence[Scope], *, excluded: Set[Scope] = frozenset()
) -> RelatedRows:
    """Load every row that shares a target with one of the changed scopes, or is below one.

    excluded: scopes whose rows the caller has already; their rows may be missing.
    """
    queries = [_ancestors(resource_type, changed, excluded)]
    for level in Level:
        if at_level := [scope for scope in changed if scope.level is level]:
            queries += _below(level, resource_type, at_level)
    text = " UNION ALL ".join(sql for sql, _ in queries)
    with connection.cursor() as cursor:
        cursor.execute(text, [value for _, values in queries for value in values])
        return {Scope(row[1], row[0], row[2], row[3]): row[4] for row in cursor}


def registered_pairs(changed: Iterable[Scope]) -> list[Scope]:
    """Return every registered project in every domain that one of the scopes covers."""
    broad = [scope for scope in changed if scope.level < Level.PROJECT_DOMAIN]
    if not broad:
        return []
    projects = list(Project.objects.values_list("id", flat=True))
    domains = list(Domain.objects.values_list("id", flat=True))
    everywhere = any(scope.level is Level.GLOBAL for scope in broad)
    named = {scope.project for scope in broad} | {scope.domain for scope in broad}
    return [
        Scope(domain, project)
        for project in projects
        for domain in domains
        if everywhere or project in named or domain in named
    ]


def _ancestors(resource_type: str, changed: Sequence[Scope], excluded: Set[Scope]) -> tuple[str, list[Any]]:
    rungs = _rungs_above(changed) - excluded
    match = "k.p = o.project AND k.d = o.domain AND k.w = o.workflow AND k.l = o.launch_plan"
    return f"{_SELECT} JOIN {_KEYS} ON {match} WHERE {_OF_TYPE}", [_keys(rungs), resource_type]


def _rungs_above(scopes: Iterable[Scope]) -> set[Scope]:
    """Return the ladders of all scopes; what the launch plans of a workflow share is added once."""
    rungs = set(scopes)
    workflows: set[tuple[str, str, str]] = set()
    for scope in rungs.copy():
        workflow = (scope.domain, scope.project, scope.workflow)
        if workflow not in workflows:
            workflows.add(workflow)
            rungs.update(scope.ladder())
    return rungs


def _below(level: Level, resource_type: str, changed: Sequence[Scope]) -> list[tuple[str, list[Any]]]:
    match level:
        case Level.GLOBAL:
            return [(f"{_SELECT} WHERE {_OF_TYPE}", [resource_type])]
        case Level.DOMAIN:
            domains = [scope.domain for scope in changed]
            condition = "o.project <> '' AND (o.domain = ANY(%s) OR o.domain = '')"
            return [(f"{_SELECT} WHERE {_OF_TYPE} AND {condition}", [resource_type, domains])]
        case Level.PROJECT:
            projects = [scope.project for scope in changed]
            condition = "(o.project = ANY(%s) OR (o.project = '' AND o.domain <> ''))"
            return [(f"{_SELECT} WHERE {_OF_TYPE} AND {condition}", [resource_type, projects])]
        case Level.PROJECT_DOMAIN:
            match = "k.p = o.project AND k.d = o.domain AND o.workflow <> ''"
        case Level.WORKFLOW:
            match = "k.p = o.project AND k.d = o.domain AND k.w = o.workflow AND o.launch_plan <> ''"
        case Level.LAUNCH_PLAN:
            return []
    return [(f"{_SELECT} JOIN {_KEYS} ON {match} WHERE {_OF_TYPE}", [_keys(changed), resource_type])]


def _keys(scopes: Iterable[Scope]) -> str:
    return recordset(map(as_row, sorted(scopes, key=by_project)))
