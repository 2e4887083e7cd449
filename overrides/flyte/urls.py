"""Routes of FlyteAdmin's HTTP API: everything below its collections, including unsupported calls."""

from django.urls import path, re_path

from overrides.flyte.bindings import COLLECTIONS
from overrides.flyte.calls import BINDINGS
from overrides.flyte.gateway import gateway, healthcheck, openapi
from overrides.flyte.login_gateway import client_config, oauth2_metadata

_ANSWERED = "|".join(dict.fromkeys(binding.segments[2] for binding in BINDINGS))
# As Django names it, for the metrics of its paths.
ROUTE = rf"^api/v1/(?:{_ANSWERED})(?:/.*)?$"
urlpatterns = [
    re_path(r"^api/v1/openapi$", openapi),
    re_path(ROUTE, gateway, name="flyte"),
    path("healthcheck", healthcheck),
    path("config/v1/flyte_client", client_config),
    path(".well-known/oauth-authorization-server", oauth2_metadata),
]
# After our own routes, some of which have the same prefixes: unsupported calls, and paths with empty
# segments.
unanswered = [re_path(rf"^/*api/+v1/+(?:{'|'.join(COLLECTIONS)})(?:/.*)?$", gateway)]
