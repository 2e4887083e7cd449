"""Routes of notifications."""

from django.urls import path

from console.notifications import alerts, channel_actions, channel_form, channels, rule_form, rules

_RULE = "notification-rules/<uuid:rule_id>"
_CHANNEL = "notification-channels/<uuid:channel_id>"

urlpatterns = [
    path("alerts", alerts.alerts, name="alerts"),
    path("alerts/<uuid:alert_id>", alerts.alert, name="alert"),
    path("alerts/<uuid:alert_id>/acknowledge", alerts.acknowledge, name="alert-acknowledge"),
    path("notification-rules", rules.rules, name="notification-rules"),
    path("notification-rules:new", rule_form.create, name="notification-rule-new"),
    path(_RULE, rules.rule, name="notification-rule"),
    path(f"{_RULE}/edit", rule_form.edit, name="notification-rule-edit"),
    path(f"{_RULE}/delete", rules.delete, name="notification-rule-delete"),
    path("notification-channels", channels.channels, name="notification-channels"),
    path("notification-channels:new", channel_form.create, name="notification-channel-new"),
    path(_CHANNEL, channels.channel, name="notification-channel"),
    path(f"{_CHANNEL}/edit", channel_form.edit, name="notification-channel-edit"),
    path(f"{_CHANNEL}/test", channel_actions.test, name="notification-channel-test"),
    path(f"{_CHANNEL}/resume", channel_actions.resume, name="notification-channel-resume"),
    path(
        f"{_CHANNEL}/rotate-secret",
        channel_actions.rotate_secret,
        name="notification-channel-rotate-secret",
    ),
    path(f"{_CHANNEL}/delete", channel_actions.delete, name="notification-channel-delete"),
]
