"""Pages about documents of teams, their conflicts, and what data planes are given."""

from django.urls import path

from console.agent_configs import check_document, conflicts, data_planes, documents, sources

# A document of a folder may lie in a folder of its own.
_DOCUMENT = "<str:source>/<str:team>/<path:name>"

urlpatterns = [
    path("agent-configs", documents.documents, name="agent-configs"),
    path("agent-configs/conflicts", conflicts.conflicts, name="agent-config-conflicts"),
    path("agent-configs/conflicts/hand-over", conflicts.hand_over, name="agent-config-transfer"),
    path("agent-configs/give-up", conflicts.give_up, name="agent-config-release"),
    path("agent-configs/try", check_document.check, name="agent-config-check"),
    path("agent-configs/sources/<str:name>", sources.removal, name="agent-config-removal"),
    path("agent-configs/planes", data_planes.planes, name="data-planes"),
    path("agent-configs/planes/<str:name>", data_planes.plane, name="data-plane"),
    path("agent-configs/planes/<str:name>/approve", data_planes.approval, name="data-plane-approval"),
    path("agent-configs/planes/<str:name>/<int:revision>", data_planes.bundle, name="bundle"),
    path(f"agent-configs/leave-out/{_DOCUMENT}", documents.leave_out, name="agent-config-quarantine"),
    path(f"agent-configs/let-in/{_DOCUMENT}", documents.let_in, name="agent-config-readmit"),
    path(f"agent-configs/documents/{_DOCUMENT}", documents.document, name="agent-config"),
]
