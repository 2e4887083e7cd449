"""HTTP endpoints for effective values."""
