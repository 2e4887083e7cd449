"""Routes of plugin releases, below /api/v1/."""

from django.urls import path

from registry.api.plugins import views

urlpatterns = [
    path("plugin-config:validate", views.PluginConfigCheck.as_view()),
    path("plugin-specs:validate", views.PluginSpecCheck.as_view()),
]
