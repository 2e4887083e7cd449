"""Routes of resources and their dispatch, below /api/v1/."""

from django.urls import include, path

from registry.api.dispatch import assignment_views, placement_views, resource_views

urlpatterns = [
    path("", include("registry.api.dispatch.dead_letter_urls")),
    path("resources", resource_views.ResourceCollection.as_view()),
    path("resources/<slug:resource_id>", resource_views.ResourceItem.as_view()),
    path("resources/<slug:resource_id>:cancel", resource_views.ResourceCancellation.as_view()),
    path("resources/<slug:resource_id>:retry", resource_views.ResourceRetry.as_view()),
    path("resources/<slug:resource_id>/assignments", assignment_views.AssignmentCollection.as_view()),
    path("placements:explain", placement_views.PlacementExplanation.as_view()),
]
