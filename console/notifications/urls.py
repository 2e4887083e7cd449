"""Routes of notifications."""

from django.urls import path

from console.notifications import alerts, channels

urlpatterns = [
    path("alerts", alerts.alerts, name="alerts"),
    path("alerts/<uuid:alert_id>", alerts.alert, name="alert"),
    path("alerts/<uuid:alert_id>/acknowledge", alerts.acknowledge, name="alert-acknowledge"),
    path("notification-channels", channels.channels, name="notification-channels"),
]
