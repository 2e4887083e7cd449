"""Pages for agents, environments, fleet guards and task types."""
