"""Routes of jobs, below /api/v1/."""

from django.urls import path

from registry.api.jobs import render_views, run_views, stored_views, views

_JOB = "jobs/<str:project>/<str:name>"

urlpatterns = [
    path("jobs", stored_views.JobCollection.as_view()),
    path("jobs:validate", views.JobCheck.as_view()),
    path("jobs:preview", views.JobPreview.as_view()),
    # Before the job itself, whose name would match them.
    path(f"{_JOB}:run-input", run_views.JobRunInput.as_view()),
    path(f"{_JOB}:preview-input", run_views.JobRunInputPreview.as_view()),
    path(f"{_JOB}:render", render_views.JobRender.as_view()),
    path(f"{_JOB}/runs", run_views.JobRunCollection.as_view()),
    path(_JOB, stored_views.JobItem.as_view()),
    path("job-variables/<str:project>", stored_views.JobVariablesItem.as_view()),
    path("job-secrets/<str:project>", stored_views.JobSecretCollection.as_view()),
    path("job-secrets/<str:project>/<str:name>", stored_views.JobSecretItem.as_view()),
]
