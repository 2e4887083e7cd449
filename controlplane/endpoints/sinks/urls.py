"""Routes of sinks below /api/v1/."""

from django.urls import path

from controlplane.endpoints.sinks import delivery_views, sink_actions, sink_views

urlpatterns = [
    path("sinks", sink_views.SinkCollection.as_view()),
    path("sinks:preview", sink_actions.SinkPreview.as_view()),
    path("sinks/<uuid:sink_id>", sink_views.SinkItem.as_view()),
    path("sinks/<uuid:sink_id>:pause", sink_actions.SinkPause.as_view()),
    path("sinks/<uuid:sink_id>:resume", sink_actions.SinkResume.as_view()),
    path("sinks/<uuid:sink_id>:test", sink_actions.SinkTest.as_view()),
    path("sinks/<uuid:sink_id>:replay", sink_actions.SinkReplay.as_view()),
    path("sinks/<uuid:sink_id>:rotate-secret", sink_actions.SinkSecretRotation.as_view()),
    path("sinks/<uuid:sink_id>:revoke-old", sink_actions.SinkOldSecrets.as_view()),
    path("sinks/<uuid:sink_id>/deliveries", delivery_views.DeliveryCollection.as_view()),
    path("deliveries/<uuid:delivery_id>", delivery_views.DeliveryItem.as_view()),
    path("deliveries/<uuid:delivery_id>:retry", delivery_views.DeliveryRetry.as_view()),
    path("deliveries/<uuid:delivery_id>:discard", delivery_views.DeliveryDiscard.as_view()),
]
