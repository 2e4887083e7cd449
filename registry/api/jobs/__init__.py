"""HTTP endpoints for jobs of schedulers."""
