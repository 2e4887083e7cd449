"""Routes of jobs, below /api/v1/."""

from django.urls import path

from registry.api.jobs import views

urlpatterns = [
    path("jobs:validate", views.JobCheck.as_view()),
    path("jobs:preview", views.JobPreview.as_view()),
]
