"""HTTP endpoints for plugin releases."""
