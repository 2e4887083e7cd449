"""Routes of OAuth clients, tokens, sessions, role bindings and join tokens."""

from django.urls import path

from console.access import (
    clients,
    consent,
    device,
    join_tokens,
    password,
    providers,
    role_bindings,
    sessions,
    tokens,
)

urlpatterns = [
    path("oauth2/consent", consent.consent, name="oauth-consent"),
    path("device", device.device, name="device"),
    path("oauth-clients", clients.clients, name="oauth-clients"),
    path("oauth-clients/<str:client_id>", clients.client_page, name="oauth-client"),
    path("oauth-clients/<str:client_id>/delete", clients.delete, name="oauth-client-delete"),
    path(
        "oauth-clients/<str:client_id>/secrets/<uuid:secret_id>/revoke",
        clients.revoke_secret,
        name="oauth-client-secret-revoke",
    ),
    path("tokens", tokens.tokens, name="tokens"),
    path("tokens/<uuid:token_id>/revoke", tokens.revoke, name="token-revoke"),
    path("sessions", sessions.sessions, name="sessions"),
    path("sessions/end-others", sessions.end_others, name="sessions-end"),
    path("sessions/<uuid:session_id>/end", sessions.end, name="session-end"),
    path("identity-providers", providers.providers, name="identity-providers"),
    path("identity-providers/<slug:slug>", providers.provider, name="identity-provider"),
    path("account/password", password.change, name="password"),
    path("role-bindings", role_bindings.role_bindings, name="role-bindings"),
    path("role-bindings/<uuid:binding_id>/remove", role_bindings.remove, name="role-binding-remove"),
    path("join-tokens", join_tokens.join_tokens, name="join-tokens"),
    path("join-tokens/<uuid:token_id>/revoke", join_tokens.revoke, name="join-token-revoke"),
]
