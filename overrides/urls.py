"""Routes of overrides, below /api/v1/. Projects and domains are below `scopes/`: docs/adr/0009."""

from django.urls import path

from overrides.api import (
    approval_policies,
    change_request_steps,
    change_requests,
    changes,
    documents,
    file_source,
    freezes,
    guard_rails,
    importing,
    projects,
    resource_types,
    undeletion,
)
from overrides.api.effective import views as effective_views
from overrides.api.effective.cluster_resources import EffectiveClusterResources
from overrides.api.effective.pod_preview import PodPreview
from overrides.api.effective.render_views import EffectiveRender
from overrides.api.effective.snapshot_views import EffectiveSnapshot
from overrides.api.effective.stream_views import EffectiveStream
from overrides.api.history import rollback_views
from overrides.api.history import views as history_views
from overrides.api.overrides import apply_views, views

# Fixed paths come before the types; no type can have such a name (RESERVED_NAMES).
urlpatterns = [
    path("overrides", views.OverrideCollection.as_view()),
    path("overrides:apply", apply_views.ApplyOverrides.as_view()),
    path("overrides:import", importing.ImportOverrides.as_view()),
    path("overrides:rollback", rollback_views.ScopeRollback.as_view()),
    path("overrides/effective", effective_views.EffectiveOverrides.as_view()),
    path("overrides/effective/cluster-resources", EffectiveClusterResources.as_view()),
    path("overrides/effective/render", EffectiveRender.as_view()),
    path("overrides/effective:batch", effective_views.EffectiveBatch.as_view()),
    path("overrides/effective:stream", EffectiveStream.as_view()),
    path("overrides/effective:snapshot", EffectiveSnapshot.as_view()),
    path("overrides/pod-preview", PodPreview.as_view()),
    path("overrides/document", documents.ScopeDocumentItem.as_view()),
    path("overrides/export", documents.Export.as_view()),
    path("overrides/diff", history_views.RevisionDiff.as_view()),
    path("overrides/revisions", history_views.RevisionCollection.as_view()),
    path("overrides/revisions/<int:revision>", history_views.RevisionItem.as_view()),
    path("overrides/source", file_source.Source.as_view()),
    path("overrides/source:confirm", file_source.ConfirmSource.as_view()),
    path("overrides/<str:resource_type>/versions", history_views.VersionCollection.as_view()),
    path("overrides/<str:resource_type>/versions/<int:version>", history_views.VersionItem.as_view()),
    path(
        "overrides/<str:resource_type>/versions/<int:version>/diff/<int:other>",
        history_views.VersionDiff.as_view(),
    ),
    path("overrides/<str:resource_type>/blame", history_views.Blame.as_view()),
    path("overrides/<str:resource_type>:undelete", rollback_views.OverrideUndeletion.as_view()),
    path("overrides/<str:resource_type>:rollback", rollback_views.OverrideRollback.as_view()),
    path("overrides/<str:resource_type>:preview", views.OverridePreview.as_view()),
    path("overrides/<str:resource_type>", views.OverrideItem.as_view()),
    path("override-changes", changes.ChangeCollection.as_view()),
    path("override-changes/<uuid:change>", changes.ChangeItem.as_view()),
    path("override-changes/<uuid:change>:cancel", changes.CancelChange.as_view()),
    path("override-freezes", freezes.FreezeCollection.as_view()),
    path("override-freezes/<uuid:freeze>", freezes.FreezeItem.as_view()),
    path("override-freezes/<uuid:freeze>:end", freezes.EndFreeze.as_view()),
    path("approval-policies", approval_policies.PolicyCollection.as_view()),
    path("approval-policies/<uuid:policy>", approval_policies.PolicyItem.as_view()),
    path("change-requests", change_requests.RequestCollection.as_view()),
    path("change-requests/<uuid:change_request>", change_requests.RequestItem.as_view()),
    path("change-requests/<uuid:change_request>:approve", change_request_steps.ApproveRequest.as_view()),
    path("change-requests/<uuid:change_request>:reject", change_request_steps.RejectRequest.as_view()),
    path("change-requests/<uuid:change_request>:withdraw", change_request_steps.WithdrawRequest.as_view()),
    path("change-requests/<uuid:change_request>:refresh", change_request_steps.RefreshRequest.as_view()),
    path("change-requests/<uuid:change_request>:publish", change_request_steps.PublishRequest.as_view()),
    path("change-requests/<uuid:change_request>/comments", change_requests.RequestComments.as_view()),
    path("guard-rails", guard_rails.RailCollection.as_view()),
    path("guard-rails/<str:name>:undelete", undeletion.RailUndeletion.as_view()),
    path("guard-rails/<str:name>", guard_rails.RailItem.as_view()),
    path("resource-types", resource_types.ResourceTypeCollection.as_view()),
    path("resource-types/<str:resource_type>:undelete", undeletion.TypeUndeletion.as_view()),
    path("resource-types/<str:resource_type>", resource_types.ResourceTypeItem.as_view()),
    path("scopes/projects", projects.ProjectCollection.as_view()),
    path("scopes/projects/<str:project>", projects.ProjectItem.as_view()),
    path("scopes/domains", projects.DomainCollection.as_view()),
    path("scopes/domains/<str:domain>", projects.DomainItem.as_view()),
]
