"""Routes of DCM agents and DCM instances under /api/v1alpha1/."""

from django.urls import path

from registry.api.dcm import instance_views, views

urlpatterns = [
    path("agents", views.DcmAgents.as_view()),
    path("agents/<uuid:agent_id>", views.DcmAgent.as_view()),
    path("agents/<uuid:agent_id>/heartbeat", views.DcmHeartbeat.as_view()),
    path("service-type-instances", instance_views.DcmInstances.as_view()),
    path("service-type-instances/<str:instance_id>", instance_views.DcmInstance.as_view()),
]
