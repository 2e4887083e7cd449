"""HTTP endpoints for agent configurations, claims and data planes, and polls on a fast path."""
