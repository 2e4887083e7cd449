"""Merge the files of a document and decide which agent serves which task type. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from registry.agent_configs.documents.content import Content
from registry.agent_configs.documents.diagnostics import Code, Findings, Place, quote_value
from registry.agent_configs.documents.limits import Limits
from registry.agent_configs.documents.payloads import Draft
from registry.agent_configs.documents.task_type_names import find_near_misses


def merge_drafts(drafts: Sequence[Draft], findings: Findings) -> Draft:
    """Merge the drafts of all files. Equal entries count once; entries that differ are errors."""
    whole = Draft()
    for draft in drafts:
        if draft.section and whole.section and draft.section != whole.section:
            place = next(iter(_find_places(draft)), Place())
            message = f"Another file of this document uses {whole.section}."
            findings.error(place, Code.CONFLICTING_FILES, message, "Use one section in all files.")
        whole.section = whole.section or draft.section
        _merge_entries("agent", whole.agents, draft.agents, findings)
        _merge_entries("mapping of", whole.mappings, draft.mappings, findings)
        _merge_entries("default of", whole.defaults, draft.defaults, findings)
        whole.supported = {**draft.supported, **whole.supported}
    return whole


def build_content(draft: Draft, limits: Limits, findings: Findings) -> Content:
    """Check the document as a whole and return its content."""
    _check_counts(draft, limits, findings)
    _check_names(draft, findings)
    routes = {name: _find_agent(name, draft, findings) for name in sorted(_claimed_task_types(draft))}
    if not draft.agents and not routes and not draft.defaults and not findings.diagnostics:
        message = "The document publishes no agent and no task type."
        findings.error(Place(), Code.NOTHING_PUBLISHED, message)
    _check_idle_agents(draft, routes, findings)
    return Content(
        agents={
            name: deployment
            for name, (deployment, _) in sorted(draft.agents.items())
            if deployment is not None
        },
        routes=routes,
        defaults=frozenset(draft.defaults),
    )


def _find_agent(name: str, draft: Draft, findings: Findings) -> str:
    """Return the agent that serves a task type; empty if another document of the team declares it."""
    if name in draft.mappings:
        return draft.mappings[name][0]
    if len(draft.agents) == 1:
        return next(iter(draft.agents))
    if draft.agents:
        message = f"It is ambiguous which of {len(draft.agents)} agents serves {name}."
        hint = f"Map it in agentForTaskTypes or connectorForTaskTypes: - {name}: {min(draft.agents)}"
        findings.error(draft.supported[name], Code.AMBIGUOUS_ROUTING, message, hint)
    return ""


def _claimed_task_types(draft: Draft) -> dict[str, Place]:
    return {**{name: place for name, (_, place) in draft.mappings.items()}, **draft.supported}


def _merge_entries(what: str, whole: dict[str, Any], more: Mapping[str, Any], findings: Findings) -> None:
    for name, (value, place) in more.items():
        if name in whole and whole[name][0] != value:
            other = whole[name][1].file or "another file"
            message = f"The {what} {name} differs from the one in {other}."
            findings.error(place, Code.CONFLICTING_FILES, message)
        whole.setdefault(name, (value, place))


def _check_counts(draft: Draft, limits: Limits, findings: Findings) -> None:
    for what, number, most in (
        ("agents", len(draft.agents), limits.agents),
        ("task types", len(_claimed_task_types(draft)) + len(draft.defaults), limits.task_types),
    ):
        if number > most:
            message = f"The document has {number} {what}; the maximum is {most}."
            findings.error(Place(), Code.TOO_LARGE, message, "Split it into several documents.")


def _check_names(draft: Draft, findings: Findings) -> None:
    claimed = _claimed_task_types(draft)
    folded = {name.lower() for name in claimed}
    # Defaults are always in lower case, so a default is no near miss of its own task type.
    defaults = {name: place for name, (_, place) in draft.defaults.items() if name not in folded}
    places = {**defaults, **claimed}
    for group in find_near_misses(places):
        message = (
            f"{' and '.join(quote_value(name) for name in group)} look similar but are different task types."
        )
        findings.warn(places[group[-1]], Code.NEAR_MISS, message, "Use one spelling everywhere.")


def _check_idle_agents(draft: Draft, routes: Mapping[str, str], findings: Findings) -> None:
    for name, (_, place) in draft.agents.items():
        if name not in routes.values() and not (len(draft.agents) > 1 and "" in routes.values()):
            message = (
                f"No task type is routed to {quote_value(name)}; it serves only the types that it reports."
            )
            findings.warn(place, Code.IDLE_AGENT, message, "List its task types in supportedTaskTypes.")


def _find_places(draft: Draft) -> list[Place]:
    valued = (*draft.agents.values(), *draft.mappings.values())
    return [*(place for _, place in valued), *draft.supported.values()]
