"""Observations about documents that affect each other without losing a claim; only warnings. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import combinations

from registry.agent_configs.documents.content import Deployment
from registry.agent_configs.documents.published import DocumentId, Naming, PublishedDocument
from registry.agent_configs.documents.task_type_names import find_near_misses


class Subject(StrEnum):
    """Stable names, part of the API."""

    ENDPOINT_SHARED = "EndpointShared"
    ENDPOINT_SETTINGS_MISMATCH = "EndpointSettingsMismatch"
    NEAR_MISS = "NearMiss"


@dataclass(frozen=True, slots=True, order=True)
class Observation:
    """A remark about a document because of another one. is_warning: False for information only."""

    document: DocumentId
    subject: Subject
    message: str
    other: DocumentId
    is_warning: bool = True


@dataclass(frozen=True, slots=True)
class _LocatedAgent:
    document: PublishedDocument
    agent: str
    deployment: Deployment


def find_observations(documents: Sequence[PublishedDocument], naming: Naming) -> tuple[Observation, ...]:
    """Return all observations in a fixed order."""
    return tuple(sorted({*_compare_endpoints(documents, naming), *_compare_spellings(documents)}))


def _compare_endpoints(documents: Iterable[PublishedDocument], naming: Naming) -> Iterator[Observation]:
    by_endpoint: defaultdict[str, list[_LocatedAgent]] = defaultdict(list)
    for document in documents:
        for name, deployment in (document.content.agents if document.content else {}).items():
            located = _LocatedAgent(document, naming.agent_id(document.team, name), deployment)
            by_endpoint[deployment.endpoint.lower()].append(located)
    for group in by_endpoint.values():
        for ours in group:
            # One other agent is enough: all pairs of a large group would be too many.
            other_agents = [other for other in group if other.agent != ours.agent]
            if other_agents:
                yield _compare_pair(
                    ours, min(other_agents, key=lambda other: _have_same_settings(ours, other))
                )


def _compare_pair(ours: _LocatedAgent, theirs: _LocatedAgent) -> Observation:
    """Compare two agents of one endpoint: Flyte keeps one connection, with the settings of the first."""
    same = _have_same_settings(ours, theirs)
    subject = Subject.ENDPOINT_SHARED if same else Subject.ENDPOINT_SETTINGS_MISMATCH
    more = "" if same else " but has other settings; Flyte uses the settings of one for both"
    is_ours = ours.document.organisation == theirs.document.organisation
    whose = theirs.agent if is_ours else "another organisation's agent"
    message = f"{ours.agent} shares the endpoint of {whose}{more}."
    is_warning = not same or ours.document.team != theirs.document.team
    return Observation(ours.document.id, subject, message, theirs.document.id, is_warning)


def _have_same_settings(ours: _LocatedAgent, theirs: _LocatedAgent) -> bool:
    """True if both agents can share one connection."""
    deployment, other = ours.deployment, theirs.deployment
    return (deployment.insecure, deployment.service_config) == (other.insecure, other.service_config)


def _compare_spellings(documents: Iterable[PublishedDocument]) -> Iterator[Observation]:
    """Yield similar names across a team's documents; within one document, reading it reports them."""
    by_team: defaultdict[str, list[PublishedDocument]] = defaultdict(list)
    for document in documents:
        by_team[document.team].append(document)
    for team in by_team.values():
        spelled: defaultdict[str, set[DocumentId]] = defaultdict(set)
        for document in team:
            for name in document.content.routes if document.content else ():
                spelled[name].add(document.id)
        for group in find_near_misses(spelled):
            for ours, theirs in combinations(group, 2):
                yield from _near_miss_observations(ours, theirs, spelled[ours], spelled[theirs])
                yield from _near_miss_observations(theirs, ours, spelled[theirs], spelled[ours])


def _near_miss_observations(
    ours: str, theirs: str, here: set[DocumentId], there: set[DocumentId]
) -> Iterator[Observation]:
    for document in here - there:
        for other in sorted(there - here)[:1]:
            message = f"{ours} looks like {theirs} of {other} but is a different task type."
            yield Observation(document, Subject.NEAR_MISS, message, other)
