"""Routes of SCIM 2.0."""

from django.urls import path

from controlplane.endpoints.access.scim import discovery, views

urlpatterns = [
    path("ServiceProviderConfig", discovery.Configuration.as_view()),
    path("ResourceTypes", discovery.ResourceTypes.as_view()),
    path("ResourceTypes/<str:name>", discovery.ResourceTypes.as_view()),
    path("Schemas", discovery.Schemas.as_view()),
    path("Schemas/<str:name>", discovery.Schemas.as_view()),
    path("Users", views.Users.as_view()),
    path("Users/<uuid:user_id>", views.UserItem.as_view()),
    path("Groups", views.Groups.as_view()),
    path("Groups/<uuid:team_id>", views.GroupItem.as_view()),
]
