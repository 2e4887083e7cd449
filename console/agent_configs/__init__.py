"""Pages for agent configurations, conflicts and data planes."""
