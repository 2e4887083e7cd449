"""Routes of the registry under /api/v1/."""

from django.urls import path

from registry.api import environments
from registry.api.agents import bulk_views, lease_views, lifecycle_views, version_views, views
from registry.api.dispatch import agent_views as dispatch_views
from registry.api.dispatch import nats_login_views, reachability_views
from registry.api.heartbeats import views as heartbeat_views
from registry.api.joining import join_views
from registry.api.joining import views as joining_views
from registry.api.providers import views as provider_views
from registry.api.task_types import views as task_type_views

urlpatterns = [
    path("agents", views.AgentCollection.as_view()),
    path("agents/<uuid:agent_id>", views.AgentItem.as_view()),
    path("agents/<uuid:agent_id>/heartbeat", heartbeat_views.AgentHeartbeat.as_view()),
    path("agents/<uuid:agent_id>/requests", dispatch_views.AgentRequests.as_view()),
    path("agents/<uuid:agent_id>/answers", dispatch_views.AgentAnswers.as_view()),
    path("agents/<uuid:agent_id>/reachability", reachability_views.AgentReachability.as_view()),
    path("agents/<uuid:agent_id>:approve", lifecycle_views.AgentApproval.as_view()),
    path("agents/<uuid:agent_id>:drain", lifecycle_views.AgentDrain.as_view()),
    path("agents/<uuid:agent_id>:resume", lifecycle_views.AgentResumption.as_view()),
    path("agents/<uuid:agent_id>:deregister", lifecycle_views.AgentDeregistration.as_view()),
    path("agents/<uuid:agent_id>:retire", lifecycle_views.AgentRetirement.as_view()),
    path("agents/<uuid:agent_id>:transfer", lifecycle_views.AgentTransfer.as_view()),
    path("agents/<uuid:agent_id>:rotate", joining_views.AgentRotation.as_view()),
    path("agents/<uuid:agent_id>:revoke-tokens", joining_views.AgentTokenRevocation.as_view()),
    path("agents/<uuid:agent_id>:issue-nats-login", nats_login_views.NatsLoginIssue.as_view()),
    path("agents/<uuid:agent_id>/nats-login", nats_login_views.NatsLoginItem.as_view()),
    path("agents/<uuid:agent_id>:set-lease", lease_views.AgentLease.as_view()),
    path("agents:drain", bulk_views.BulkDrain.as_view()),
    path("agents:resume", bulk_views.BulkResumption.as_view()),
    path("agents:retire", bulk_views.BulkRetirement.as_view()),
    path("agents:approve", bulk_views.BulkApproval.as_view()),
    path("agent-bulk-changes", bulk_views.BulkChangeCollection.as_view()),
    path("agent-bulk-changes/<uuid:change>", bulk_views.BulkChangeItem.as_view()),
    path("agent-bulk-changes/<uuid:change>/agents", bulk_views.BulkChangeAgents.as_view()),
    path("agent-bulk-changes/<uuid:change>:cancel", bulk_views.BulkChangeCancellation.as_view()),
    path("agent-bulk-changes/<uuid:change>:undo", bulk_views.BulkChangeUndo.as_view()),
    path("agents:set-environment-lease", lease_views.EnvironmentLease.as_view()),
    path("agents:join", join_views.AgentJoin.as_view()),
    path("agents:versions", version_views.AgentVersions.as_view()),
    path("agents:summary", lifecycle_views.FleetSummary.as_view()),
    path("join-tokens", joining_views.JoinTokenCollection.as_view()),
    path("join-tokens/<uuid:token_id>", joining_views.JoinTokenItem.as_view()),
    path("agents:heartbeat", heartbeat_views.HeartbeatBatch.as_view()),
    path("agents/<uuid:agent_id>/providers", provider_views.ProviderCollection.as_view()),
    path("agents/<uuid:agent_id>/providers/<slug:provider_id>", provider_views.ProviderItem.as_view()),
    path(
        "agents/<uuid:agent_id>/providers/<slug:provider_id>/history",
        provider_views.ProviderHistory.as_view(),
    ),
    path("task-types", task_type_views.TaskTypes.as_view()),
    path("task-types/<str:name>", task_type_views.TaskTypeItem.as_view()),
    path("fleet-guards", environments.FleetGuards.as_view()),
    path("fleet-guards:overrule", environments.FleetGuardRuling.as_view()),
]
