"""Routes of dead letters, below /api/v1/."""

from django.urls import path

from registry.api.dispatch import dead_letter_views as views

urlpatterns = [
    path("dead-letters", views.DeadLetterCollection.as_view()),
    path("dead-letters/<uuid:letter_id>", views.DeadLetterItem.as_view()),
    path("dead-letters/<uuid:letter_id>:replay", views.DeadLetterReplay.as_view()),
    path("dead-letters/<uuid:letter_id>:discard", views.DeadLetterDiscard.as_view()),
]
