"""HTTP endpoints for principals, tokens, roles and sessions."""
