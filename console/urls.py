"""Pages of the console. What has a page of a section's name appears in the navigation."""

from django.contrib.auth.views import LogoutView
from django.urls import include, path

from console import dashboard, search
from console.fleet import pages as fleet
from console.login import LoginPage
from console.overrides import pages as overrides

urlpatterns = [
    path("", dashboard.dashboard, name="dashboard"),
    path("overrides", overrides.effective, name="overrides"),
    path("agents", fleet.agents, name="agents"),
    path("search", search.search, name="search"),
    path("login", LoginPage.as_view(), name="login"),
    path("logout", LogoutView.as_view(next_page="login"), name="logout"),
    path("", include("console.fleet.urls")),
    path("", include("console.agent_configs.urls")),
    path("", include("console.records.urls")),
    path("", include("console.access.urls")),
]
