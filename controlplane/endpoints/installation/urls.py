"""Routes of the state of the installation below /api/v1/."""

from django.urls import path

from controlplane.endpoints.installation import backups, debug_requests, meta, support

urlpatterns = [
    path("meta", meta.Meta.as_view()),
    path("meta/support", support.SupportFacts.as_view()),
    path("debug/requests", debug_requests.DebugRequests.as_view()),
    path("backups", backups.BackupCollection.as_view()),
]
