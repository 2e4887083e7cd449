"""Pages about what was done and what happened."""

from django.urls import path

from console.records import audit, events

urlpatterns = [
    path("audit", audit.audit, name="audit"),
    path("events", events.events, name="events"),
]
