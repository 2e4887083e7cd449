"""HTTP endpoints for service providers."""
