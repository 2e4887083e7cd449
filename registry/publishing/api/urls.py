"""Routes of agent configurations and data planes, below /api/v1/."""

from django.urls import path

from registry.publishing.api import (
    bundle_views,
    claim_views,
    config_views,
    part_views,
    plane_views,
    source_views,
)

urlpatterns = [
    path("agent-configs", config_views.AgentConfigCollection.as_view()),
    path("agent-configs:preview", config_views.PreviewAgentConfigs.as_view()),
    path("agent-configs:admit", config_views.AdmitAgentConfig.as_view()),
    path("agent-configs:quarantine", config_views.QuarantineAgentConfig.as_view()),
    path("agent-configs:readmit", config_views.ReadmitAgentConfig.as_view()),
    # A file's name has its folders.
    path("agent-configs/<str:team>/<path:name>", config_views.AgentConfigItem.as_view()),
    path("agent-config-sources", source_views.SourceCollection.as_view()),
    path("agent-config-sources:confirm", source_views.ConfirmRemoval.as_view()),
    path("agent-config-teams", claim_views.TeamCollection.as_view()),
    path("agent-config-teams/<str:team>", claim_views.TeamItem.as_view()),
    path("agent-config-grants", claim_views.GrantCollection.as_view()),
    path("agent-config-grants/<uuid:grant_id>", claim_views.GrantItem.as_view()),
    path("agent-config-claims", claim_views.ClaimCollection.as_view()),
    path("agent-config-claims:release", claim_views.ReleaseClaim.as_view()),
    path("agent-config-claims:transfer", claim_views.TransferClaim.as_view()),
    path("agent-config-parts", part_views.PartCollection.as_view()),
    path("agent-config-conflicts", claim_views.ConflictCollection.as_view()),
    path("agent-config-bundles", bundle_views.BundleCollection.as_view()),
    path("agent-config-bundles/<str:name>/<int:revision>", bundle_views.BundleItem.as_view()),
    path(
        "agent-config-bundles/<str:name>/<int:revision>/diff/<int:other>",
        bundle_views.BundleDifference.as_view(),
    ),
    path("data-planes", plane_views.DataPlaneCollection.as_view()),
    path("data-planes/<str:name>:approve", plane_views.ApproveBundle.as_view()),
    path("data-planes/<str:name>/config", plane_views.DataPlaneConfig.as_view()),
    path("data-planes/<str:name>/acks", plane_views.DataPlaneAcks.as_view()),
    path("data-planes/<str:name>", plane_views.DataPlaneItem.as_view()),
]
