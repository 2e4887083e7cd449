"""Routes of agents, below /api/v1/."""

from django.urls import path

from registry.agents.api import guard_views, heartbeat_views, views

urlpatterns = [
    path("agents", views.AgentCollection.as_view()),
    path("agents/<uuid:agent_id>", views.AgentItem.as_view()),
    path("agents/<uuid:agent_id>/heartbeat", heartbeat_views.AgentHeartbeat.as_view()),
    path("agents:heartbeat", heartbeat_views.ManyHeartbeats.as_view()),
    path("fleet-guards", guard_views.FleetGuards.as_view()),
    path("fleet-guards:overrule", guard_views.FleetGuardRuling.as_view()),
]
