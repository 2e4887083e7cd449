"""HTTP endpoints for task types."""
