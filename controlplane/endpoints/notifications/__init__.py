"""HTTP endpoints for notifications."""
