"""Task types that agents report, compared with those that a document routes to them. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from registry.agent_configs.documents.content import Content

# An endpoint and whether it is insecure, and what its agents report in lower case.
Reported = Mapping[tuple[str, bool], frozenset[str]]
_MOST_NAMED = 10


def types_not_served(content: Content, reported: Reported) -> list[str]:
    """Return the routed task types that their agent does not report, unless it reports nothing."""
    missing = []
    for task_type, agent_id in content.routes.items():
        agent = content.agents.get(agent_id)
        served = reported.get((agent.endpoint, agent.insecure)) if agent else None
        if served is not None and task_type.lower() not in served:
            missing.append(task_type)
    return sorted(missing)


def describe_missing(task_types: list[str]) -> str:
    """Return the message of a document whose agents do not report what it routes to them."""
    shown = ", ".join(task_types[:_MOST_NAMED])
    more = f" and {len(task_types) - _MOST_NAMED} more" if len(task_types) > _MOST_NAMED else ""
    return (
        f"The agent does not report the task types {shown}{more}. Tasks of these types would fail: deploy an"
        " agent that has them, or remove them from the document."
    )
