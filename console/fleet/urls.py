"""Routes of agents, environments, fleet guards and task types."""

from django.urls import path

from console.fleet import (
    actions,
    agent,
    bulk_changes,
    bulk_start,
    credentials,
    environments,
    guards,
    reachability,
    task_types,
)

urlpatterns = [
    path("agents/<uuid:agent_id>", agent.agent, name="agent"),
    path("agents/<uuid:agent_id>/reachability", reachability.reachability, name="agent-reachability"),
    path("agents/<uuid:agent_id>/approve", actions.approve, name="agent-approve"),
    path("agents/<uuid:agent_id>/drain", actions.drain, name="agent-drain"),
    path("agents/<uuid:agent_id>/resume", actions.resume, name="agent-resume"),
    path("agents/<uuid:agent_id>/transfer", actions.transfer, name="agent-transfer"),
    path("agents/<uuid:agent_id>/retire", actions.retire, name="agent-retire"),
    path("agents/<uuid:agent_id>/rotate-token", credentials.rotate, name="agent-rotate-token"),
    path("agents/<uuid:agent_id>/revoke-tokens", credentials.revoke_tokens, name="agent-revoke-tokens"),
    path("agents/<uuid:agent_id>/remove", actions.remove, name="agent-remove"),
    path("agents:<slug:action>", bulk_start.start, name="agents-bulk"),
    path("agent-bulk-changes", bulk_changes.bulk_changes, name="agent-bulk-changes"),
    path("agent-bulk-changes/<uuid:change>", bulk_changes.bulk_change, name="agent-bulk-change"),
    path("agent-bulk-changes/<uuid:change>:cancel", bulk_changes.cancel, name="agent-bulk-change-cancel"),
    path("agent-bulk-changes/<uuid:change>:undo", bulk_changes.undo, name="agent-bulk-change-undo"),
    path("environments", environments.environments, name="environments"),
    path("fleet-guards", guards.guards, name="guards"),
    path("fleet-guards/overrule", guards.ruling, name="guard-ruling"),
    path("task-types", task_types.task_types, name="task-types"),
    path("task-types/<str:name>", task_types.task_type, name="task-type"),
]
