"""Routes of people, teams, roles, tokens, sessions and join tokens."""

from django.urls import path

from console.access import (
    consent,
    device,
    join_tokens,
    password,
    people,
    providers,
    role_bindings,
    roles,
    sessions,
    team_members,
    teams,
    tokens,
    who_can,
)

urlpatterns = [
    path("people", people.people, name="people"),
    path("people/<str:name>/switch", people.switch, name="principal-switch"),
    path("teams", teams.teams, name="teams"),
    path("teams/<str:slug>", teams.team, name="team"),
    path("teams/<str:slug>/delete", teams.delete, name="team-delete"),
    path("teams/<str:slug>/members", team_members.add, name="team-member-add"),
    path("teams/<str:slug>/members/<str:name>/remove", team_members.remove, name="team-member-remove"),
    path("roles", roles.roles, name="roles"),
    path("roles/<str:name>", roles.role, name="role"),
    path("roles/<str:name>/delete", roles.delete, name="role-delete"),
    path("who-can", who_can.who_can, name="who-can"),
    path("oauth2/consent", consent.consent, name="oauth-consent"),
    path("device", device.device, name="device"),
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
