"""The OAuth 2 authorization server: clients, grants, tokens and signing keys."""
