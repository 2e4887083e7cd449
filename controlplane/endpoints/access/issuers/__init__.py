"""HTTP endpoints for trusted issuers."""
