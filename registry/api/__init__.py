"""HTTP endpoints for agents and agent configurations."""
