"""Routes of notifications below /api/v1/."""

from django.urls import path

from controlplane.endpoints.notifications import alert_views, alertmanager, channel_views, rule_views

urlpatterns = [
    path("notification-rules", rule_views.RuleCollection.as_view()),
    path("notification-rules:preview", rule_views.RulePreview.as_view()),
    path("notification-rules/<uuid:rule_id>", rule_views.RuleItem.as_view()),
    path("notification-channels", channel_views.ChannelCollection.as_view()),
    path("notification-channels/<uuid:channel_id>", channel_views.ChannelItem.as_view()),
    path("notification-channels/<uuid:channel_id>:resume", channel_views.ChannelResume.as_view()),
    path(
        "notification-channels/<uuid:channel_id>:rotate-secret", channel_views.ChannelSecretRotation.as_view()
    ),
    path("notification-channels/<uuid:channel_id>:test", channel_views.ChannelTest.as_view()),
    path("alerts", alert_views.AlertCollection.as_view()),
    path("alerts/<uuid:alert_id>", alert_views.AlertItem.as_view()),
    path("alerts/<uuid:alert_id>:acknowledge", alert_views.AlertAcknowledgement.as_view()),
    path("notifications:send", alert_views.Notes.as_view()),
    path("alertmanager", alertmanager.Alertmanager.as_view()),
]
