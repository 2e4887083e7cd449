"""HTTP endpoints for logins, at the paths of Flyte and of OpenID Connect."""
