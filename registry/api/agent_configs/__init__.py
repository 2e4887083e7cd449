"""HTTP endpoints for agent configurations, claims and data planes."""
