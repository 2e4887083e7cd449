"""Routes of agents, below /api/v1/."""

from django.urls import path

from registry.agents.api import guard_views, heartbeat_views, join_views, lease_views, life_cycle_views, views
from registry.providers.api import views as provider_views
from registry.task_types.api import views as task_type_views

urlpatterns = [
    path("agents", views.AgentCollection.as_view()),
    path("agents/<uuid:agent_id>", views.AgentItem.as_view()),
    path("agents/<uuid:agent_id>/heartbeat", heartbeat_views.AgentHeartbeat.as_view()),
    path("agents/<uuid:agent_id>:approve", life_cycle_views.AgentApproval.as_view()),
    path("agents/<uuid:agent_id>:drain", life_cycle_views.AgentDrain.as_view()),
    path("agents/<uuid:agent_id>:resume", life_cycle_views.AgentResumption.as_view()),
    path("agents/<uuid:agent_id>:deregister", life_cycle_views.AgentFarewell.as_view()),
    path("agents/<uuid:agent_id>:retire", life_cycle_views.AgentRetirement.as_view()),
    path("agents/<uuid:agent_id>:rotate", join_views.AgentRotation.as_view()),
    path("agents/<uuid:agent_id>:set-lease", lease_views.AgentLease.as_view()),
    path("agents:set-environment-lease", lease_views.EnvironmentLease.as_view()),
    path("agents:join", join_views.AgentJoin.as_view()),
    path("agents:summary", life_cycle_views.FleetSummary.as_view()),
    path("join-tokens", join_views.JoinTokenCollection.as_view()),
    path("join-tokens/<uuid:token_id>", join_views.JoinTokenItem.as_view()),
    path("agents:heartbeat", heartbeat_views.ManyHeartbeats.as_view()),
    path("agents/<uuid:agent_id>/providers", provider_views.ProviderCollection.as_view()),
    path("agents/<uuid:agent_id>/providers/<slug:provider_id>", provider_views.ProviderItem.as_view()),
    path(
        "agents/<uuid:agent_id>/providers/<slug:provider_id>/history",
        provider_views.ProviderHistory.as_view(),
    ),
    path("task-types", task_type_views.TaskTypes.as_view()),
    path("task-types/<str:name>", task_type_views.TaskTypeItem.as_view()),
    path("fleet-guards", guard_views.FleetGuards.as_view()),
    path("fleet-guards:overrule", guard_views.FleetGuardRuling.as_view()),
]
