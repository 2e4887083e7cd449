"""Routes of overrides, below /api/v1/. Projects and domains lie below `scopes/`: docs/adr/0009."""

from django.urls import path

from overrides.api import catalogue_views as catalogue
from overrides.api import views

urlpatterns = [
    path("overrides", views.OverrideCollection.as_view()),
    # Before the type: no resource type may be called "effective" (a contract test watches).
    path("overrides/effective", views.EffectiveOverrides.as_view()),
    path("overrides/<str:resource_type>", views.OverrideItem.as_view()),
    path("resource-types", catalogue.ResourceTypeCollection.as_view()),
    path("resource-types/<str:resource_type>", catalogue.ResourceTypeItem.as_view()),
    path("scopes/projects", catalogue.ProjectCollection.as_view()),
    path("scopes/projects/<str:project>", catalogue.ProjectItem.as_view()),
    path("scopes/domains", catalogue.DomainCollection.as_view()),
    path("scopes/domains/<str:domain>", catalogue.DomainItem.as_view()),
]
