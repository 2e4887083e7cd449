"""What published agent configurations make of a task type: who serves it in which data plane, and who lost.

Few queries, however many data planes there are: the winners, and the losers.
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
from django.db.models import Count, QuerySet

from controlplane.errors import UnknownTaskType
from controlplane.identity.callers import Caller
from controlplane.identity.roles import Action
from registry.agent_configs.documents.task_type_names import normalize_spelling
from registry.agent_configs.models import AgentConfigStatus, ClaimRecord
from registry.agent_configs.publishing.teams import hidden_teams
from registry.task_types.models import ServedTaskType, TaskTypeName
from registry.task_types.names import NAME
from registry.task_types.served import counted

# Among so many names a near miss is looked for.
_NAMES_COMPARED = 2000


@dataclass(frozen=True, slots=True)
class Loser:
    """A document that claims the name in vain. because: the rule that decided."""

    team: str
    document: str
    reason: str
    because: str
    message: str


@dataclass(frozen=True, slots=True)
class Publication:
    """Who serves a task type in one data plane, as its bundle in force has it.

    mapped: False where the data plane has to discover it. conditions: of the winning document. What
    belongs to an organisation that the reader does not see is empty.
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
    """By data plane. Strangers are told only as those to whom somebody visible lost."""
    if not caller.scopes_for(Action.AGENT_CONFIG_READ):
        return []
    hidden = frozenset(hidden_teams(caller))
    losers = _losers(name, hidden)
    found = []
    for row in _rows(name):
        plane, version, pin = row["data_plane"], row["version"], row["pin"]
        one = Publication(**row, losers=losers.get((plane, version, pin), ()))
        if one.team not in hidden:
            found.append(one)
        elif one.losers:
            found.append(_veiled(one))
    return found


def find(name: str, caller: Caller) -> tuple[list[Publication], QuerySet[ServedTaskType]]:
    """Who publishes it, and which agents serve it in any version. Raises UnknownTaskType if nobody does."""
    rows = ServedTaskType.objects.filter(name=name).select_related("agent")
    is_legal = NAME.fullmatch(name) is not None
    found = publications(name, caller) if is_legal else []
    if not found and not (is_legal and rows.exists()):
        message = f"Nobody serves or publishes the task type {name[:128]!r}."
        raise UnknownTaskType(message + hint(name, caller))
    return found, rows


def summaries(names: Sequence[str], caller: Caller) -> dict[str, dict[str, Any]]:
    """For each name: the agents that serve it, and the teams that publish it."""
    agents, teams = counted(names), owners(names, caller)
    nobody: dict[str, Any] = {"teams": [], "data_planes": 0}
    return {name: {**agents[name], **teams.get(name, nobody)} for name in names}


def owners(names: Collection[str], caller: Caller) -> dict[str, dict[str, Any]]:
    """For each name that is published: by which teams, and in how many data planes."""
    if not caller.scopes_for(Action.AGENT_CONFIG_READ):
        return {}
    rows = ClaimRecord.objects.filter(name__in=names, kind="task_type", established=True, gone_at=None)
    rows = rows.exclude(team__in=hidden_teams(caller))
    found: dict[str, dict[str, Any]] = {one: {"teams": [], "data_planes": 0} for one in names}
    for name, team in rows.values_list("name", "team").distinct().order_by("name", "team"):
        found[name]["teams"].append(team)
    counts = rows.values("name").annotate(planes=Count("data_plane", distinct=True))
    for one in counts:
        found[one["name"]]["data_planes"] = one["planes"]
    return found


def names_seen_by(caller: Caller) -> Any:
    """A queryset of all names that the caller may see, each once."""
    rows = TaskTypeName.objects.distinct("name")
    if not caller.scopes_for(Action.AGENT_CONFIG_READ):
        return rows.filter(team="")
    return rows.exclude(team__in=hidden_teams(caller))


def near_miss(wanted: str, names: Iterable[str]) -> str:
    """The name that was probably meant, or nothing. Pure."""
    known = list(names)
    alike = [one for one in known if normalize_spelling(one) == normalize_spelling(wanted)]
    return next(iter(alike or difflib.get_close_matches(wanted, known, n=1, cutoff=0.6)), "")


def hint(wanted: str, caller: Caller) -> str:
    """A sentence about the nearest name, or nothing."""
    names = names_seen_by(caller).order_by("name").values_list("name", flat=True)[:_NAMES_COMPARED]
    nearest = near_miss(wanted[:128], names)
    return f" Did you mean {nearest!r}?" if nearest else ""


def _rows(name: str) -> list[dict[str, Any]]:
    with connection.cursor() as cursor:
        cursor.execute(_PUBLISHED, [name, name])
        columns = [one.name for one in cursor.description or ()]
        rows = [dict(zip(columns, row, strict=True)) for row in cursor.fetchall()]
    # Django leaves JSON to its fields.
    return [{**row, "conditions": json.loads(row["conditions"])} for row in rows]


def _losers(name: str, hidden: Collection[str]) -> dict[tuple[str, int, str], tuple[Loser, ...]]:
    rows = AgentConfigStatus.objects.exclude(conflicts=[]).exclude(document__team__in=hidden)
    rows = rows.filter(conflicts__contains=[{"kind": "task_type", "name": name}])
    rows = rows.order_by("document__source", "document__team", "document__name")
    found: defaultdict[tuple[str, int, str], list[Loser]] = defaultdict(list)
    for plane, conflicts in rows.values_list("data_plane_id", "conflicts"):
        for one in conflicts:
            if (one["kind"], one["name"]) == ("task_type", name):
                document = "/".join(one["document"])
                lost = Loser(one["team"], document, one["reason"], one["because"], one["message"])
                found[plane, one["version"], one["pin"]].append(lost)
    return {key: tuple(lost) for key, lost in found.items()}


def _veiled(one: Publication) -> Publication:
    return Publication(
        one.data_plane,
        one.revision,
        one.version,
        one.pin,
        one.mapped,
        team="",
        document="",
        generation=0,
        agent="",
        endpoint="",
        insecure=False,
        since=one.since,
        conditions=[],
        losers=one.losers,
    )


# The claims say in which data planes to look; only those bundles are opened.
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
