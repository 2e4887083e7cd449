"""Routes of the console. A section appears in the navigation if a route has its name."""

from django.urls import include, path

from console import components, palette, search, step_up, time_zone
from console.api_reference import pages as api_reference
from console.dashboard.installation import installation
from console.dashboard.pages import dashboard
from console.fleet import pages as fleet
from console.overrides import (
    approval_policies,
    change_requests,
    editor,
    freezes,
    guard_rails,
    history,
    pod_preview,
    projects,
    resource_types,
    scheduled,
)
from console.overrides import pages as overrides

urlpatterns = [
    path("", dashboard, name="dashboard"),
    path("dashboard/installation", installation, name="dashboard-installation"),
    path("overrides", overrides.effective, name="overrides"),
    path("overrides/scopes", overrides.scopes, name="overrides-scopes"),
    path("overrides/compare", overrides.compare, name="overrides-compare"),
    path("overrides/pod-preview", pod_preview.preview, name="overrides-pod-preview"),
    path("overrides/<str:resource_type>/copy", overrides.copy, name="overrides-copy"),
    path("overrides/<str:resource_type>/edit", editor.edit, name="override-edit"),
    path("overrides/<str:resource_type>/fields", editor.fields, name="override-fields"),
    path("overrides/<str:resource_type>/history", history.history, name="override-history"),
    path("projects", projects.projects, name="projects"),
    path("projects:new", projects.create, name="project-new"),
    path("projects/<str:name>", projects.project, name="project"),
    path("projects/<str:name>/edit", projects.edit, name="project-edit"),
    path("guard-rails", guard_rails.rails, name="guard-rails"),
    path("guard-rails:new", guard_rails.edit, name="guard-rail-new"),
    path("guard-rails/<str:name>", guard_rails.rail, name="guard-rail"),
    path("guard-rails/<str:name>/edit", guard_rails.edit, name="guard-rail-edit"),
    path("override-changes", scheduled.changes, name="override-changes"),
    path("override-changes/<uuid:change>:cancel", scheduled.cancel, name="override-change-cancel"),
    path("override-freezes", freezes.freezes, name="freezes"),
    path("override-freezes:declare", freezes.declare, name="freeze-declare"),
    path("override-freezes/<uuid:freeze>:end", freezes.end, name="freeze-end"),
    path("change-requests", change_requests.inbox, name="change-requests"),
    path("change-requests/<uuid:change_request>", change_requests.change_request_page, name="change-request"),
    path("approval-policies", approval_policies.policies, name="approval-policies"),
    path("approval-policies:create", approval_policies.create, name="approval-policy-create"),
    path("approval-policies/<uuid:policy>/edit", approval_policies.edit, name="approval-policy-edit"),
    path("approval-policies/<uuid:policy>:delete", approval_policies.delete, name="approval-policy-delete"),
    path("resource-types", resource_types.types, name="resource-types"),
    path("resource-types:new", resource_types.edit, name="resource-type-new"),
    path("resource-types/<str:resource_type>", resource_types.resource_type_page, name="resource-type"),
    path("resource-types/<str:resource_type>/edit", resource_types.edit, name="resource-type-edit"),
    path("agents", fleet.agents, name="agents"),
    path("search", search.search, name="search"),
    path("api-reference", api_reference.index, name="api-reference"),
    path("api-reference/<slug:operation_id>", api_reference.operation, name="api-operation"),
    path("components", components.components, name="components"),
    path("palette", palette.palette, name="palette"),
    path("time-zone", time_zone.time_zone, name="time-zone"),
    path("login/step-up", step_up.confirm, name="step-up"),
    path("", include("console.login.urls")),
    path("", include("console.fleet.urls")),
    path("", include("console.dispatch.urls")),
    path("", include("console.agent_configs.urls")),
    path("", include("console.plugins.urls")),
    path("", include("console.jobs.urls")),
    path("", include("console.pools.urls")),
    path("", include("console.sinks.urls")),
    path("", include("console.notifications.urls")),
    path("", include("console.records.urls")),
    path("", include("console.access.urls")),
]
