"""Routes of DCM agents under /api/v1alpha1/."""

from django.urls import path

from registry.api.dcm import views

urlpatterns = [
    path("agents", views.DcmAgents.as_view()),
    path("agents/<uuid:agent_id>", views.DcmAgent.as_view()),
    path("agents/<uuid:agent_id>/heartbeat", views.DcmHeartbeat.as_view()),
]
