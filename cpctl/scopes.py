"""Scopes on the command line and in output."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cpctl.errors import UsageError

SEGMENTS = ("project", "domain", "workflow", "launch_plan")
LADDER = ("global", "domain", "project", "project_domain", "workflow", "launch_plan")


def scope_query(project: str, domain: str, workflow: str, launch_plan: str) -> dict[str, str]:
    """Return the scope as query parameters. Raises UsageError for an invalid combination."""
    if workflow and not (project and domain):
        raise UsageError("A workflow requires a project and a domain.", hint="add -p PROJECT -d DOMAIN")
    if launch_plan and not workflow:
        raise UsageError("A launch plan requires a workflow.", hint="add -w WORKFLOW")
    named = zip(SEGMENTS, (project, domain, workflow, launch_plan), strict=True)
    return {segment: name for segment, name in named if name}


def scope_text(scope: Mapping[str, Any] | None) -> str:
    if scope is None:
        return ""
    segments = [f"{segment}={scope[segment]}" for segment in SEGMENTS if scope.get(segment)]
    return " ".join(segments) or "global"


def rung_scope(level: str, scope: Mapping[str, str]) -> dict[str, str] | None:
    """Return the scope of a level of the ladder to `scope`; None if it has no such level."""
    needs = {
        "global": (),
        "domain": ("domain",),
        "project": ("project",),
        "project_domain": ("project", "domain"),
        "workflow": ("project", "domain", "workflow"),
        "launch_plan": SEGMENTS,
    }[level]
    if not all(scope.get(segment) for segment in needs):
        return None
    return {segment: scope[segment] for segment in needs}
