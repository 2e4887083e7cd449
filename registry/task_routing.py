"""Routing of task types by published agent configurations, with rejected claims, per data plane.

The number of queries does not depend on the number of data planes.
"""

from __future__ import annotations

import difflib
import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import connection
from django.db.models import Count, Q, QuerySet

from controlplane.errors import UnknownTaskType
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.claims.redaction import redact_conflict
from registry.agent_configs.documents.task_type_names import normalize_spelling
from registry.agent_configs.models import AgentConfigStatus, ClaimRecord, DataPlane
from registry.agent_configs.publishing.hidden_teams import (
    HiddenTeams,
    hidden_teams,
    planes_with_visible_names,
)
from registry.task_types.models import ServedTaskType, TaskTypeName
from registry.task_types.names import NAME
from registry.task_types.served import count_by_name

# Maximum number of names to compare for a suggestion.
_NAMES_COMPARED = 2000


@dataclass(frozen=True, slots=True)
class Loser:
    """A document whose claim to the name was rejected. because: the rule that decided."""

    team: str
    document: str
    reason: str
    because: str
    message: str


@dataclass(frozen=True, slots=True)
class Publication:
    """The route of a task type in one data plane, from its active bundle.

    mapped: False where the data plane must discover it. conditions: of the winning document. Fields that
    belong to an organisation that the caller cannot see are empty.
    """

    data_plane: str
    revision: int
    version: int
    pin: str
    mapped: bool
    team: str
    document: str
    generation: int
    agent: str
    endpoint: str
    insecure: bool
    since: datetime
    conditions: list[dict[str, Any]]
    losers: tuple[Loser, ...] = ()


def publications(name: str, caller: Caller) -> list[Publication]:
    """Return the routes by data plane. A hidden winner appears redacted, if a visible team lost to it."""
    if not caller.owners_for(Action.AGENT_CONFIG_READ):
        return []
    hidden, named = hidden_teams(caller), planes_with_visible_names(caller, "team")
    planes = set(DataPlane.objects.filter(named).values_list("name", flat=True))
    losers = _losers(name, hidden)
    visible = []
    for row in _rows(name):
        if row["data_plane"] not in planes:
            continue
        plane, version, pin = row["data_plane"], row["version"], row["pin"]
        publication = Publication(**row, losers=losers.get((plane, version, pin), ()))
        if publication.team not in hidden:
            visible.append(publication)
        elif publication.losers:
            visible.append(_redact(publication))
    return visible


def find_task_type(name: str, caller: Caller) -> tuple[list[Publication], QuerySet[ServedTaskType]]:
    """Return the routes of the task type, and the agents that serve any version. Raises UnknownTaskType."""
    rows = ServedTaskType.objects.within(caller).filter(name=name).select_related("agent")
    is_valid = NAME.fullmatch(name) is not None
    routes = publications(name, caller) if is_valid else []
    if not routes and not (is_valid and rows.exists()):
        message = f"No agent serves and no team publishes the task type {name[:128]!r}."
        raise UnknownTaskType(message + suggest_name(name, caller))
    return routes, rows


def summaries(names: Sequence[str], caller: Caller) -> dict[str, dict[str, Any]]:
    """Return by name: the agents that serve it and the teams that publish it."""
    agents, teams = count_by_name(names, caller), owners(names, caller)
    no_owner: dict[str, Any] = {"teams": [], "data_planes": 0}
    return {name: {**agents[name], **teams.get(name, no_owner)} for name in names}


def owners(names: Collection[str], caller: Caller) -> dict[str, dict[str, Any]]:
    """Return by name: the teams that publish it, and the number of data planes."""
    if not caller.owners_for(Action.AGENT_CONFIG_READ):
        return {}
    rows = ClaimRecord.objects.filter(name__in=names, kind="task_type", established=True, gone_at=None)
    rows = rows.filter(hidden_teams(caller).visible("team"), planes_with_visible_names(caller))
    by_name: dict[str, dict[str, Any]] = {name: {"teams": [], "data_planes": 0} for name in names}
    for name, team in rows.values_list("name", "team").distinct().order_by("name", "team"):
        by_name[name]["teams"].append(team)
    counts = rows.values("name").annotate(planes=Count("data_plane", distinct=True))
    for row in counts:
        by_name[row["name"]]["data_planes"] = row["planes"]
    return by_name


def visible_names(caller: Caller) -> Any:
    """Return all names that the caller can see, each once."""
    rows = TaskTypeName.objects.distinct("name")
    if not caller.owners_for(Action.AGENT_READ).everything:
        served = ServedTaskType.objects.within(caller).values("name")
        rows = rows.filter(~Q(team="") | Q(name__in=served))
    if not caller.owners_for(Action.AGENT_CONFIG_READ):
        return rows.filter(team="")
    # Names that agents serve have no team.
    return rows.filter(Q(team="") | hidden_teams(caller).visible("team"))


def nearest_name(name: str, names: Iterable[str]) -> str:
    """Return the most similar name, or an empty string."""
    candidates = list(names)
    alike = [
        candidate for candidate in candidates if normalize_spelling(candidate) == normalize_spelling(name)
    ]
    return next(iter(alike or difflib.get_close_matches(name, candidates, n=1, cutoff=0.6)), "")


def suggest_name(name: str, caller: Caller) -> str:
    """Return a sentence that suggests the most similar name, or an empty string."""
    names = visible_names(caller).order_by("name").values_list("name", flat=True)[:_NAMES_COMPARED]
    nearest = nearest_name(name[:128], names)
    return f" Did you mean {nearest!r}?" if nearest else ""


def _rows(name: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(_PUBLISHED, [name, name])
        columns = [column.name for column in cursor.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    # Raw cursors return JSON as text.
    return [{**row, "conditions": json.loads(row["conditions"])} for row in rows]


def _losers(name: str, hidden: HiddenTeams) -> dict[tuple[str, int, str], tuple[Loser, ...]]:
    rows = AgentConfigStatus.objects.exclude(conflicts=[]).filter(hidden.visible("document__team"))
    rows = rows.filter(conflicts__contains=[{"kind": "task_type", "name": name}])
    rows = rows.order_by("document__source", "document__team", "document__name")
    losers: defaultdict[tuple[str, int, str], list[Loser]] = defaultdict(list)
    for plane, conflicts in rows.values_list("data_plane_id", "conflicts"):
        for row in conflicts:
            if (row["kind"], row["name"]) == ("task_type", name):
                document = "/".join(row["document"])
                message = redact_conflict(row, hidden)
                loser = Loser(row["team"], document, row["reason"], row["because"], message)
                losers[plane, row["version"], row["pin"]].append(loser)
    return {route: tuple(rejected) for route, rejected in losers.items()}


def _redact(publication: Publication) -> Publication:
    return Publication(
        publication.data_plane,
        publication.revision,
        publication.version,
        publication.pin,
        publication.mapped,
        team="",
        document="",
        generation=0,
        agent="",
        endpoint="",
        insecure=False,
        since=publication.since,
        conditions=[],
        losers=publication.losers,
    )


# The claims determine the data planes, so that only their bundles are read.
_PUBLISHED = """
SELECT p.name AS data_plane, b.revision, c.version, c.pin, c.team, c.first_accepted_at AS since,
       (route->>'mapped')::boolean AS mapped, route->>'agent' AS agent,
       concat_ws('/', c.source, c.team, c.document) AS document,
       b.body #>> ARRAY['agents', route->>'agent', 'deployment', 'endpoint'] AS endpoint,
       (b.body #>> ARRAY['agents', route->>'agent', 'deployment', 'insecure'])::boolean AS insecure,
       coalesce(d.generation, 0) AS generation, coalesce(s.conditions, '[]') AS conditions
FROM registry_claimrecord c
JOIN registry_dataplane p ON p.name = c.data_plane_id
JOIN registry_agentconfigbundle b ON b.data_plane_id = p.name AND b.revision = p.active_revision
CROSS JOIN LATERAL jsonb_path_query(
    b.body, '$.routes[*] ? (@.task_type == $name)', jsonb_build_object('name', %s::text)) AS route
LEFT JOIN registry_agentconfig d ON d.source = c.source AND d.team = c.team AND d.name = c.document
LEFT JOIN registry_agentconfigstatus s ON s.document_id = d.id AND s.data_plane_id = p.name
WHERE c.name = %s AND c.kind = 'task_type'
  AND (route->>'version')::int = c.version AND route->>'pin' = c.pin AND route->>'team' = c.team
ORDER BY p.name, c.version, c.pin
"""
