"""Routes of plugins, their releases and their configuration."""

from django.urls import path

from console.plugins import actions, configuration, node_matrix, pages, releases

urlpatterns = [
    path("plugins", pages.plugins, name="plugins"),
    path("plugins/<str:name>", pages.plugin, name="plugin"),
    path("plugin-releases", releases.releases, name="plugin-releases"),
    path("plugin-releases:nodes", node_matrix.node_matrix, name="plugin-node-matrix"),
    path("plugin-releases:new", actions.create, name="plugin-release-new"),
    path("plugin-releases/<uuid:release_id>", releases.release, name="plugin-release"),
    path("plugin-releases/<uuid:release_id>/activate", actions.activate, name="plugin-release-activate"),
    path("plugin-releases/<uuid:release_id>/rollback", actions.roll_back, name="plugin-release-rollback"),
    path("plugin-releases/<uuid:release_id>/cancel", actions.cancel, name="plugin-release-cancel"),
    path("plugin-config", configuration.configuration, name="plugin-config"),
    path("plugin-config/edit", configuration.edit, name="plugin-config-edit"),
]
