"""Routes of agents, below /api/v1/."""

from django.urls import path

from registry.agents.api import guard_views, heartbeat_views, views
from registry.providers.api import views as provider_views
from registry.task_types.api import views as task_type_views

urlpatterns = [
    path("agents", views.AgentCollection.as_view()),
    path("agents/<uuid:agent_id>", views.AgentItem.as_view()),
    path("agents/<uuid:agent_id>/heartbeat", heartbeat_views.AgentHeartbeat.as_view()),
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
