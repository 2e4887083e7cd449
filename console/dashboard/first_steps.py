"""The first steps in an empty installation: a project, an override, an agent."""

from __future__ import annotations

from dataclasses import dataclass

from console.cpctl_commands import cpctl

# With so many steps taken, people know their way.
_ENOUGH = 2


@dataclass(frozen=True, slots=True)
class FirstStep:
    """A step with its command. page: route where the step can be taken too."""

    title: str
    why: str
    command: str
    page: str
    is_done: bool


def first_steps(*, has_projects: bool, has_overrides: bool, has_agents: bool) -> list[FirstStep]:
    """Return all steps while fewer than two are taken; then none."""
    if has_projects + has_overrides + has_agents >= _ENOUGH:
        return []
    return [
        FirstStep(
            "Create a project",
            "Overrides and workflows belong to a project.",
            cpctl("projects", "create", "flytesnacks"),
            "projects",
            has_projects,
        ),
        FirstStep(
            "Set an override",
            "A value that applies at a scope and everything below it.",
            cpctl("edit", "-p", "flytesnacks", "-d", "development"),
            "overrides",
            has_overrides,
        ),
        FirstStep(
            "Join an agent",
            "An agent registers once with a join token, and then sends heartbeats.",
            cpctl("agents", "join-tokens", "create", "first", "--name-pattern", "*", "--yes"),
            "join-tokens",
            has_agents,
        ),
    ]
