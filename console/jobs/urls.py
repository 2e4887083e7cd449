"""Routes of jobs."""

from django.urls import path

from console.jobs import pages

urlpatterns = [
    path("jobs", pages.jobs, name="jobs"),
    path("jobs/<str:project>/<str:name>", pages.job, name="job"),
]
