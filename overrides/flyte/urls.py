"""Routes of FlyteAdmin's HTTP API: all below its collections, also what the gateway then refuses."""

from django.urls import path, re_path

from overrides.flyte.bindings import COLLECTIONS
from overrides.flyte.calls import BINDINGS
from overrides.flyte.gateway import gateway, healthcheck, openapi

_ANSWERED = "|".join(dict.fromkeys(binding.segments[2] for binding in BINDINGS))
urlpatterns = [
    re_path(r"^api/v1/openapi$", openapi),
    re_path(rf"^api/v1/(?:{_ANSWERED})(?:/.*)?$", gateway, name="flyte"),
    path("healthcheck", healthcheck),
]
# After our own routes, some of which begin as Flyte's do: calls that are not answered here, and paths with
# empty segments.
unanswered = [re_path(rf"^/*api/+v1/+(?:{'|'.join(COLLECTIONS)})(?:/.*)?$", gateway)]
