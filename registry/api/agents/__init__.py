"""HTTP endpoints for agents."""
