"""HTTP endpoints for sinks and their deliveries."""
