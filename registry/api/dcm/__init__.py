"""DCM's paths for agents."""
