"""Routes of overrides, below /api/v1/. Projects and domains lie below `scopes/`: docs/adr/0009."""

from django.urls import path

from overrides.api import (
    apply_views,
    catalogue_views,
    document_views,
    effective_views,
    history_views,
    import_views,
    rail_views,
    source_views,
    type_views,
    views,
)

# What is not about one type comes before the types; no type may have such a name (RESERVED_NAMES).
urlpatterns = [
    path("overrides", views.OverrideCollection.as_view()),
    path("overrides:apply", apply_views.ApplyOverrides.as_view()),
    path("overrides:import", import_views.ImportOverrides.as_view()),
    path("overrides:rollback", history_views.ScopeRollback.as_view()),
    path("overrides/effective", effective_views.EffectiveOverrides.as_view()),
    path("overrides/effective:batch", effective_views.EffectiveBatch.as_view()),
    path("overrides/document", document_views.ScopeDocumentItem.as_view()),
    path("overrides/export", document_views.Export.as_view()),
    path("overrides/diff", history_views.RevisionDiff.as_view()),
    path("overrides/revisions", history_views.RevisionCollection.as_view()),
    path("overrides/revisions/<int:revision>", history_views.RevisionItem.as_view()),
    path("overrides/source", source_views.Source.as_view()),
    path("overrides/source:confirm", source_views.ConfirmSource.as_view()),
    path("overrides/<str:resource_type>/versions", history_views.VersionCollection.as_view()),
    path("overrides/<str:resource_type>/versions/<int:version>", history_views.VersionItem.as_view()),
    path(
        "overrides/<str:resource_type>/versions/<int:version>/diff/<int:other>",
        history_views.VersionDiff.as_view(),
    ),
    path("overrides/<str:resource_type>/blame", history_views.Blame.as_view()),
    path("overrides/<str:resource_type>:rollback", history_views.OverrideRollback.as_view()),
    path("overrides/<str:resource_type>:preview", views.OverridePreview.as_view()),
    path("overrides/<str:resource_type>", views.OverrideItem.as_view()),
    path("guard-rails", rail_views.RailCollection.as_view()),
    path("guard-rails/<str:name>", rail_views.RailItem.as_view()),
    path("resource-types", type_views.ResourceTypeCollection.as_view()),
    path("resource-types/<str:resource_type>", type_views.ResourceTypeItem.as_view()),
    path("scopes/projects", catalogue_views.ProjectCollection.as_view()),
    path("scopes/projects/<str:project>", catalogue_views.ProjectItem.as_view()),
    path("scopes/domains", catalogue_views.DomainCollection.as_view()),
    path("scopes/domains/<str:domain>", catalogue_views.DomainItem.as_view()),
]
