"""Routes of FlyteAdmin's HTTP API: all below its collections, also what the gateway then refuses."""

from django.urls import path, re_path

from overrides.flyte.gateway import gateway, healthcheck, openapi

_COLLECTIONS = (
    "project_domain_attributes|project_attributes|workflow_attributes|matchable_attributes"
    "|projects|domains|version"
)
urlpatterns = [
    re_path(r"^api/v1/openapi$", openapi),
    re_path(rf"^api/v1/(?:{_COLLECTIONS})(?:/.*)?$", gateway, name="flyte"),
    path("healthcheck", healthcheck),
]
