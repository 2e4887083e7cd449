"""HTTP endpoints for heartbeats, and their fast path."""
