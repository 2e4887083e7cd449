"""Pages for tokens, roles, join tokens, sessions and passwords."""
