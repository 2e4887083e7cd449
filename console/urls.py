"""Pages of the console."""

from django.contrib.auth.views import LogoutView
from django.urls import path

from console import views
from console.login import LoginPage

urlpatterns = [
    path("", views.dashboard, name="dashboard"),
    path("overrides", views.overrides, name="overrides"),
    path("agents", views.agents, name="agents"),
    path("login", LoginPage.as_view(), name="login"),
    path("logout", LogoutView.as_view(next_page="login"), name="logout"),
]
