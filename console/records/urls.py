"""Routes of the audit and events pages."""

from django.urls import path

from console.records import audit, events, status

urlpatterns = [
    path("audit", audit.audit, name="audit"),
    path("audit/export", audit.export, name="audit-export"),
    path("events", events.events, name="events"),
    path("status", status.status, name="status"),
]
