"""Routes of agent configuration documents, conflicts and data planes."""

from django.urls import path

from console.agent_configs import check_document, clusters, conflicts, data_planes, documents, pins, sources

# Names of documents from a folder can contain slashes.
_DOCUMENT = "<str:source>/<str:team>/<path:name>"

urlpatterns = [
    path("agent-configs", documents.documents, name="agent-configs"),
    path("agent-configs/conflicts", conflicts.conflicts, name="agent-config-conflicts"),
    path("agent-configs/conflicts/hand-over", conflicts.transfer_name, name="agent-config-transfer"),
    path("agent-configs/conflicts/pin", pins.pin_name, name="agent-config-pin"),
    path("agent-configs/conflicts/unpin", pins.unpin_name, name="agent-config-unpin"),
    path("agent-configs/give-up", conflicts.release_name, name="agent-config-release"),
    path("agent-configs/clusters", clusters.clusters, name="agent-config-clusters"),
    path("agent-configs/clusters:new", clusters.edit, name="agent-config-cluster-new"),
    path("agent-configs/clusters/<str:name>", clusters.edit, name="agent-config-cluster-edit"),
    path("agent-configs/clusters/<str:name>/remove", clusters.remove, name="agent-config-cluster-remove"),
    path("agent-configs/try", check_document.check, name="agent-config-check"),
    path("agent-configs/sources/<str:name>", sources.removal, name="agent-config-removal"),
    path("agent-configs/planes", data_planes.planes, name="data-planes"),
    path("agent-configs/planes/<str:name>", data_planes.plane, name="data-plane"),
    path("agent-configs/planes/<str:name>/approve", data_planes.approval, name="data-plane-approval"),
    path("agent-configs/planes/<str:name>/<int:revision>", data_planes.bundle, name="bundle"),
    path(
        f"agent-configs/leave-out/{_DOCUMENT}", documents.quarantine_document, name="agent-config-quarantine"
    ),
    path(f"agent-configs/let-in/{_DOCUMENT}", documents.readmit_document, name="agent-config-readmit"),
    path(f"agent-configs/documents/{_DOCUMENT}", documents.document, name="agent-config"),
]
