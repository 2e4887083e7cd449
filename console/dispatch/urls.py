"""Routes of resources and dead letters."""

from django.urls import path

from console.dispatch import actions, dead_letters, placement, request_form, resource, resources

urlpatterns = [
    path("resources", resources.resources, name="resources"),
    path("resources:new", request_form.request_resource, name="resource-new"),
    path("resources/<slug:resource_id>", resource.resource, name="resource"),
    path("resources/<slug:resource_id>/placement", placement.placement, name="resource-placement"),
    path("resources/<slug:resource_id>/cancel", actions.cancel, name="resource-cancel"),
    path("resources/<slug:resource_id>/retry", actions.retry, name="resource-retry"),
    path("resources/<slug:resource_id>/delete", actions.delete, name="resource-delete"),
    path("resources/<slug:resource_id>/force-deletion", actions.force_deletion, name="resource-force"),
    path("dead-letters", dead_letters.dead_letters, name="dead-letters"),
    path("dead-letters/<uuid:letter_id>", dead_letters.dead_letter, name="dead-letter"),
    path("dead-letters/<uuid:letter_id>/replay", dead_letters.replay, name="dead-letter-replay"),
    path("dead-letters/<uuid:letter_id>/discard", dead_letters.discard, name="dead-letter-discard"),
]
