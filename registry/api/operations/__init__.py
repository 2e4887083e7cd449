"""HTTP endpoints for operations."""
