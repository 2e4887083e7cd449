"""Routes of DCM agents, below /api/v1alpha1/."""

from django.urls import path

from registry.agents.api import dcm_views

urlpatterns = [
    path("agents", dcm_views.DcmAgents.as_view()),
    path("agents/<uuid:agent_id>", dcm_views.DcmAgent.as_view()),
    path("agents/<uuid:agent_id>/heartbeat", dcm_views.DcmHeartbeat.as_view()),
]
