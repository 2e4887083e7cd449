"""Routes of access below /api/v1/."""

from django.urls import path

from controlplane.endpoints.access import session_views, token_views, views
from controlplane.endpoints.access.issuers import views as issuers
from controlplane.endpoints.access.login import identity_views, provider_views
from controlplane.endpoints.access.oauth import urls as oauth
from controlplane.endpoints.access.roles import binding_views, matrix_views
from controlplane.endpoints.access.roles import views as role_views
from controlplane.endpoints.access.teams import member_views, organisation_views
from controlplane.endpoints.access.teams import views as team_views

urlpatterns = [
    path("identity-providers", provider_views.IdentityProviderCollection.as_view()),
    path("identity-providers/<slug:slug>", provider_views.IdentityProviderItem.as_view()),
    path("identity-providers/<slug:slug>:test", provider_views.IdentityProviderTest.as_view()),
    path("identities", identity_views.IdentityCollection.as_view()),
    path("identities/<uuid:identity_id>", identity_views.IdentityItem.as_view()),
    path("me", views.Me.as_view()),
    path("me:can-i", views.CanI.as_view()),
    path("me:change-password", session_views.ChangePassword.as_view()),
    path("sessions", session_views.SessionCollection.as_view()),
    path("sessions:end", session_views.SessionsEnd.as_view()),
    path("sessions/<uuid:session_id>", session_views.SessionItem.as_view()),
    path("principals", views.PrincipalCollection.as_view()),
    path("principals/<str:name>", views.PrincipalItem.as_view()),
    path("teams", team_views.TeamCollection.as_view()),
    path("teams/<str:slug>", team_views.TeamItem.as_view()),
    path("teams/<str:slug>/members", member_views.MemberCollection.as_view()),
    path("teams/<str:slug>/members/<str:name>", member_views.MemberItem.as_view()),
    path("organisations", organisation_views.OrganisationCollection.as_view()),
    path("organisations/<str:slug>", organisation_views.OrganisationItem.as_view()),
    path("tokens", token_views.TokenCollection.as_view()),
    path("tokens/<uuid:token_id>", token_views.TokenItem.as_view()),
    path("roles", role_views.RoleCollection.as_view()),
    path("roles/<str:name>", role_views.RoleItem.as_view()),
    path("role-bindings", binding_views.RoleBindingCollection.as_view()),
    path("role-bindings/<uuid:binding_id>", binding_views.RoleBindingItem.as_view()),
    path("trusted-issuers", issuers.TrustedIssuerCollection.as_view()),
    path("trusted-issuers:test", issuers.TrustedIssuerTest.as_view()),
    path("trusted-issuers/<uuid:issuer_id>", issuers.TrustedIssuerItem.as_view()),
    path("access/matrix", matrix_views.PermissionMatrix.as_view()),
    *oauth.api,
    path("audit", views.AuditCollection.as_view()),
]
