"""Routes of agent configurations and data planes, below /api/v1/."""

from django.urls import path

from registry.api.agent_configs import (
    bundle_views,
    check_views,
    claim_views,
    cluster_views,
    data_plane_views,
    document_views,
    part_views,
    pin_views,
    source_views,
)

urlpatterns = [
    path("agent-configs", document_views.AgentConfigCollection.as_view()),
    path("agent-configs:preview", check_views.PreviewAgentConfigs.as_view()),
    path("agent-configs:admit", check_views.AdmitAgentConfig.as_view()),
    path("agent-configs:quarantine", document_views.QuarantineAgentConfig.as_view()),
    path("agent-configs:readmit", document_views.ReadmitAgentConfig.as_view()),
    # A file's name includes its folders.
    path("agent-configs/<str:team>/<path:name>", document_views.AgentConfigItem.as_view()),
    path("agent-config-sources", source_views.SourceCollection.as_view()),
    path("agent-config-sources:confirm", source_views.ConfirmRemoval.as_view()),
    path("agent-config-clusters", cluster_views.ClusterCollection.as_view()),
    path("agent-config-clusters/<str:name>:report", cluster_views.ClusterReports.as_view()),
    path("agent-config-clusters/<str:name>:admit", cluster_views.AdmitClusterAgentConfig.as_view()),
    path("agent-config-clusters/<str:name>", cluster_views.ClusterItem.as_view()),
    path("agent-config-teams", claim_views.TeamCollection.as_view()),
    path("agent-config-teams/<str:team>", claim_views.TeamItem.as_view()),
    path("agent-config-grants", claim_views.GrantCollection.as_view()),
    path("agent-config-grants/<uuid:grant_id>", claim_views.GrantItem.as_view()),
    path("agent-config-claims", claim_views.ClaimCollection.as_view()),
    path("agent-config-claims:release", claim_views.ReleaseClaim.as_view()),
    path("agent-config-claims:transfer", claim_views.TransferClaim.as_view()),
    path("agent-config-claims:pin", pin_views.PinClaim.as_view()),
    path("agent-config-claims:unpin", pin_views.UnpinClaim.as_view()),
    path("agent-config-pins", pin_views.PinCollection.as_view()),
    path("agent-config-parts", part_views.PartCollection.as_view()),
    path("agent-config-conflicts", claim_views.ConflictCollection.as_view()),
    path("agent-config-bundles", bundle_views.BundleCollection.as_view()),
    path("agent-config-bundles/<str:name>/<int:revision>", bundle_views.BundleItem.as_view()),
    path(
        "agent-config-bundles/<str:name>/<int:revision>/diff/<int:other>",
        bundle_views.BundleDifference.as_view(),
    ),
    path("data-planes", data_plane_views.DataPlaneCollection.as_view()),
    path("data-planes/<str:name>:approve", data_plane_views.ApproveBundle.as_view()),
    path("data-planes/<str:name>/config", data_plane_views.DataPlaneConfig.as_view()),
    path("data-planes/<str:name>/acks", data_plane_views.DataPlaneAcks.as_view()),
    path("data-planes/<str:name>", data_plane_views.DataPlaneItem.as_view()),
]
