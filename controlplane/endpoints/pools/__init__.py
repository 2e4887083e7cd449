"""HTTP endpoints for pools, their limits and leases."""
