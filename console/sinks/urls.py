"""Routes of sinks and deliveries."""

from django.urls import path

from console.sinks import actions, deliveries, forms, pages, replays, secrets

urlpatterns = [
    path("sinks", pages.sinks, name="sinks"),
    path("sinks:new", forms.create, name="sink-new"),
    path("sinks/<uuid:sink_id>", pages.sink, name="sink"),
    path("sinks/<uuid:sink_id>/edit", forms.edit, name="sink-edit"),
    path("sinks/<uuid:sink_id>/pause", actions.pause, name="sink-pause"),
    path("sinks/<uuid:sink_id>/resume", actions.resume, name="sink-resume"),
    path("sinks/<uuid:sink_id>/test", actions.test, name="sink-test"),
    path("sinks/<uuid:sink_id>/delete", actions.delete, name="sink-delete"),
    path("sinks/<uuid:sink_id>/rotate-secret", secrets.rotate_secret, name="sink-rotate-secret"),
    path("sinks/<uuid:sink_id>/revoke-old", secrets.revoke_old, name="sink-revoke-old"),
    path("sinks/<uuid:sink_id>/replay", replays.replay, name="sink-replay"),
    path("sinks/<uuid:sink_id>/deliveries", deliveries.deliveries, name="deliveries"),
    path("sinks/deliveries/<uuid:delivery_id>", deliveries.delivery, name="delivery"),
    path("sinks/deliveries/<uuid:delivery_id>/retry", deliveries.retry, name="delivery-retry"),
    path("sinks/deliveries/<uuid:delivery_id>/discard", deliveries.discard, name="delivery-discard"),
]
