"""HTTP endpoints for joining, and their fast path."""
