"""Routes of access, below /api/v1/."""

from django.urls import path

from controlplane.access.api import views

urlpatterns = [
    path("me", views.Me.as_view()),
    path("me:can-i", views.CanI.as_view()),
    path("principals", views.PrincipalCollection.as_view()),
    path("principals/<str:name>", views.PrincipalItem.as_view()),
    path("tokens", views.TokenCollection.as_view()),
    path("tokens/<uuid:token_id>", views.TokenItem.as_view()),
    path("role-bindings", views.RoleBindingCollection.as_view()),
    path("role-bindings/<uuid:binding_id>", views.RoleBindingItem.as_view()),
    path("audit", views.AuditCollection.as_view()),
]
