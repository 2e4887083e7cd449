"""Routes of plugin releases, below /api/v1/."""

from django.urls import path

from registry.api.plugins import config_views, plugin_views, release_views, views

urlpatterns = [
    path("plugin-config", config_views.PluginConfigItem.as_view()),
    path("plugin-config:validate", views.PluginConfigCheck.as_view()),
    path("plugin-config/versions", config_views.PluginConfigVersions.as_view()),
    path("plugin-config/source", config_views.PluginConfigSource.as_view()),
    path("plugin-config/lock", plugin_views.PluginLock.as_view()),
    path("plugin-specs:validate", views.PluginSpecCheck.as_view()),
    path("plugin-secrets", config_views.PluginSecretCollection.as_view()),
    path("plugin-secrets/<str:name>", config_views.PluginSecretItem.as_view()),
    path("plugin-releases", release_views.PluginReleaseCollection.as_view()),
    path("plugin-releases/<uuid:release_id>", release_views.PluginReleaseItem.as_view()),
    path("plugin-releases/<uuid:release_id>:activate", release_views.PluginReleaseActivate.as_view()),
    path("plugin-releases/<uuid:release_id>:rollback", release_views.PluginReleaseRollback.as_view()),
    path("plugin-releases/<uuid:release_id>:cancel", release_views.PluginReleaseCancel.as_view()),
    path("plugin-nodes", release_views.PluginNodeCollection.as_view()),
    path("plugins", plugin_views.PluginCollection.as_view()),
    path("plugins/<str:name>", plugin_views.PluginItem.as_view()),
    path("plugins/<str:name>/artifact", plugin_views.PluginArtifactItem.as_view()),
    path("plugins/<str:name>/<str:version>", plugin_views.PluginVersionItem.as_view()),
]
