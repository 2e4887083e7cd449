"""All routes. The paths of the API are below /api/v1/."""

from django.urls import URLPattern, URLResolver, include, path

from console.plugins.pages import plugins as plugins_page
from controlplane import openapi
from controlplane.endpoints.access.login.backchannel import backchannel_logout
from controlplane.endpoints.access.login.user_info import me
from controlplane.endpoints.access.oauth.urls import protocol as oauth
from controlplane.endpoints.access.scim.entry import scim
from controlplane.endpoints.access.urls import urlpatterns as access
from controlplane.endpoints.events import views as events
from controlplane.endpoints.installation.urls import urlpatterns as installation
from controlplane.endpoints.notifications.slack_actions import slack_actions
from controlplane.endpoints.notifications.urls import urlpatterns as notifications
from controlplane.endpoints.observability import Metrics
from controlplane.endpoints.pools.urls import urlpatterns as pools
from controlplane.endpoints.problem_pages import problem_type, problem_types
from controlplane.endpoints.sinks.urls import urlpatterns as sinks
from controlplane.extras import is_installed
from controlplane.web.cached_routes import CachedRoutes
from registry.api.optimus.entry import plugins_or, run_input

Routes = list[URLPattern | URLResolver]


def _flyte_routes() -> tuple[Routes, Routes]:
    """Before and after our own; none without the extra."""
    if not is_installed("flyte"):
        return [], []
    from overrides.flyte.urls import unanswered, urlpatterns

    return [*urlpatterns], [*unanswered]


flyte, flyte_unanswered = _flyte_routes()
api: Routes = [
    *access,
    *sinks,
    *pools,
    *notifications,
    path("events", events.EventCollection.as_view()),
    path("event-types", events.EventTypeCollection.as_view()),
    path("event-types/<str:name>/schema", events.EventTypeSchema.as_view()),
    *installation,
    path("openapi.yaml", openapi.document, name="openapi"),
    path("docs", openapi.Docs.as_view(), name="docs"),
    path("redoc", openapi.Redoc.as_view(), name="redoc"),
    path("", include("overrides.urls")),
    path("", include("registry.urls")),
    path("", include("registry.api.agent_configs.urls")),
    path("", include("registry.api.dispatch.urls")),
    path("", include("registry.api.jobs.urls")),
    path("", include("registry.api.operations.urls")),
    path("", include("registry.api.plugins.urls")),
]

routes: Routes = [
    path("metrics", Metrics.as_view()),
    path("metrics/<slug:name>", Metrics.as_view()),
    path("me", me),
    path("oidc/backchannel-logout", backchannel_logout),
    path("slack/actions", slack_actions),
    path("problems", problem_types),
    path("problems/<slug:code>", problem_type),
    path("scim/v2/<path:rest>", scim),
    *flyte,
    *oauth,
    path("api/v1/", include(api)),
    path("api/v1alpha1/", include("registry.api.dcm.urls")),
    path("plugins", plugins_or(plugins_page)),
    path("api/v1beta1/project/<str:project>/job/<str:job>/run_input", run_input),
    path("", include("console.urls")),
    *flyte_unanswered,
]
urlpatterns = [CachedRoutes(routes)]

handler400 = "controlplane.api.problems.bad_request"
handler404 = "console.not_found.page_not_found"
handler500 = "controlplane.api.problems.server_error"
