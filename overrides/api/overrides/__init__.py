"""HTTP endpoints for overrides."""
