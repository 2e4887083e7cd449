"""Routes of agents, below /api/v1/."""

from django.urls import path

from registry.agents.api import views

urlpatterns = [
    path("agents", views.AgentCollection.as_view()),
    path("agents/<uuid:agent_id>", views.AgentItem.as_view()),
    path("agents/<uuid:agent_id>/heartbeat", views.AgentHeartbeat.as_view()),
]
