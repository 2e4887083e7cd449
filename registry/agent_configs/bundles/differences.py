"""Differences between two bundles, by agents and task types. Pure."""

from __future__ import annotations

from collections.abc import Container, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

from registry.agent_configs.bundles.bundle import Bundle, Route
from registry.agent_configs.bundles.rendering import render_configuration

_HIDDEN_OWNER = "another organisation"


@dataclass(frozen=True, slots=True)
class FieldChange:
    """A changed setting of an agent, by Flyte's name; None where it was not set."""

    field: str
    before: Any
    after: Any


@dataclass(frozen=True, slots=True)
class AgentChange:
    agent: str
    fields: tuple[FieldChange, ...]


@dataclass(frozen=True, slots=True)
class RouteMove:
    """A task type that moves to another agent or team."""

    before: Route
    after: Route


@dataclass(frozen=True, slots=True)
class BundleDifference:
    """Changes that affect a data plane. restarts: settings that propeller reads only at startup."""

    agents_added: tuple[str, ...] = ()
    agents_removed: tuple[str, ...] = ()
    agents_changed: tuple[AgentChange, ...] = ()
    task_types_added: tuple[Route, ...] = ()
    task_types_removed: tuple[Route, ...] = ()
    task_types_moved: tuple[RouteMove, ...] = ()
    task_types_rerouted: tuple[RouteMove, ...] = ()
    defaults_added: tuple[str, ...] = ()
    defaults_removed: tuple[str, ...] = ()
    platform_changed: tuple[str, ...] = ()
    restarts: tuple[str, ...] = ()

    @property
    def is_empty(self) -> bool:
        return self == BundleDifference()


def compare_bundles(before: Bundle | None, after: Bundle) -> BundleDifference:
    """Compare two bundles; the order and notation of documents make no difference."""
    old = before or Bundle(after.target)
    ours = {route.name: route for route in old.routes}
    theirs = {route.name: route for route in after.routes}
    pairs = [RouteMove(ours[name], theirs[name]) for name in sorted(ours.keys() & theirs.keys())]
    moved = tuple(move for move in pairs if _owner(move.before) != _owner(move.after))
    platform = tuple(_find_platform_changes(old, after))
    defaults = set(old.defaults), set(after.defaults)
    return BundleDifference(
        agents_added=tuple(sorted(after.agents.keys() - old.agents.keys())),
        agents_removed=tuple(sorted(old.agents.keys() - after.agents.keys())),
        agents_changed=tuple(_find_agent_changes(old, after)),
        task_types_added=tuple(theirs[name] for name in sorted(theirs.keys() - ours.keys())),
        task_types_removed=tuple(ours[name] for name in sorted(ours.keys() - theirs.keys())),
        task_types_moved=moved,
        task_types_rerouted=tuple(
            move for move in pairs if move not in moved and move.before.mapped != move.after.mapped
        ),
        defaults_added=tuple(sorted(defaults[1] - defaults[0])),
        defaults_removed=tuple(sorted(defaults[0] - defaults[1])),
        platform_changed=platform,
        restarts=tuple(_find_restarts(old, after, platform)),
    )


def redact_difference(
    difference: BundleDifference, before: Bundle | None, after: Bundle, hidden: Container[str]
) -> BundleDifference:
    """Remove changes that concern only hidden teams."""
    if not hidden:
        return difference
    strangers = {name for bundle in (before, after) if bundle for name in _find_agents(bundle, hidden)}
    defaults = {route.task_type.lower() for route in _all_routes(before, after) if route.team not in hidden}

    def pairs(moved: Iterable[RouteMove]) -> tuple[RouteMove, ...]:
        visible_moves = (
            move for move in moved if move.before.team not in hidden or move.after.team not in hidden
        )
        return tuple(
            RouteMove(_redact_route(move.before, hidden), _redact_route(move.after, hidden))
            for move in visible_moves
        )

    return replace(
        difference,
        agents_added=tuple(agent for agent in difference.agents_added if agent not in strangers),
        agents_removed=tuple(agent for agent in difference.agents_removed if agent not in strangers),
        agents_changed=tuple(change for change in difference.agents_changed if change.agent not in strangers),
        task_types_added=tuple(route for route in difference.task_types_added if route.team not in hidden),
        task_types_removed=tuple(
            route for route in difference.task_types_removed if route.team not in hidden
        ),
        task_types_moved=pairs(difference.task_types_moved),
        task_types_rerouted=pairs(difference.task_types_rerouted),
        defaults_added=tuple(task_type for task_type in difference.defaults_added if task_type in defaults),
        defaults_removed=tuple(
            task_type for task_type in difference.defaults_removed if task_type in defaults
        ),
    )


def summarize_difference(difference: BundleDifference) -> tuple[str, ...]:
    """Return one readable line per change."""
    return (
        *(f"+ agent {agent}" for agent in difference.agents_added),
        *(f"- agent {agent}" for agent in difference.agents_removed),
        *(
            f"~ agent {change.agent}: {', '.join(f.field for f in change.fields)}"
            for change in difference.agents_changed
        ),
        *(f"+ task type {route.task_type} at {route.agent}" for route in difference.task_types_added),
        *(f"- task type {route.task_type}, was at {route.agent}" for route in difference.task_types_removed),
        *(_describe_move(move) for move in difference.task_types_moved),
        *(
            f"~ task type {move.after.task_type}: {_route_lookup(move.after)}"
            for move in difference.task_types_rerouted
        ),
        *(f"+ default for {task_type}" for task_type in difference.defaults_added),
        *(f"- default for {task_type}" for task_type in difference.defaults_removed),
        *(f"~ platform: {setting}" for setting in difference.platform_changed),
        *(f"! propeller must restart for {setting}" for setting in difference.restarts),
    )


def _find_agents(bundle: Bundle, teams: Container[str]) -> Iterator[str]:
    yield from (name for name, agent in bundle.agents.items() if agent.team in teams)


def _all_routes(*bundles: Bundle | None) -> Iterator[Route]:
    yield from (route for bundle in bundles if bundle for route in bundle.routes)


def _redact_route(route: Route, hidden: Container[str]) -> Route:
    return replace(route, agent=_HIDDEN_OWNER, team=_HIDDEN_OWNER) if route.team in hidden else route


def _find_agent_changes(before: Bundle, after: Bundle) -> Iterator[AgentChange]:
    old, new = _agent_settings(before), _agent_settings(after)
    for name in sorted(old.keys() & new.keys()):
        ours, theirs = old[name], new[name]
        fields = tuple(
            FieldChange(field, ours.get(field), theirs.get(field))
            for field in sorted({*ours, *theirs})
            if ours.get(field) != theirs.get(field)
        )
        if fields:
            yield AgentChange(name, fields)


def _agent_settings(bundle: Bundle) -> dict[str, dict[str, Any]]:
    """Return the rendered settings of every agent, with each timeout as a setting of its own."""
    names = bundle.target.names
    agents = render_configuration(bundle)["plugins"][names.section][names.agents]
    return {name: _flatten_timeouts(settings) for name, settings in agents.items()}


def _flatten_timeouts(settings: dict[str, Any]) -> dict[str, Any]:
    timeouts = {
        f"timeouts.{name}": value for timeout in settings["timeouts"] for name, value in timeout.items()
    }
    return {**{name: value for name, value in settings.items() if name != "timeouts"}, **timeouts}


def _find_platform_changes(before: Bundle, after: Bundle) -> Iterator[str]:
    ours, theirs = before.target.platform, after.target.platform
    yield from (name for name in sorted({*ours, *theirs}) if ours.get(name) != theirs.get(name))
    if before.target.dialect is not after.target.dialect:
        yield "dialect"
    if before.target.enabled_plugins != after.target.enabled_plugins:
        yield "enabled-plugins"


def _find_restarts(before: Bundle, after: Bundle, platform: tuple[str, ...]) -> Iterator[str]:
    # Propeller rereads only agents, mappings and supported task types at each poll.
    yield from platform
    if before.defaults != after.defaults:
        yield "default-for-task-types"


def _owner(route: Route) -> tuple[str, str]:
    return (route.team, route.agent)


def _describe_move(move: RouteMove) -> str:
    teams = f", {move.before.team} -> {move.after.team}" if move.before.team != move.after.team else ""
    return f"> task type {move.after.task_type}: {move.before.agent} -> {move.after.agent}{teams}"


def _route_lookup(route: Route) -> str:
    return "mapped" if route.mapped else "left to discovery"
