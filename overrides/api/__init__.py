"""HTTP endpoints for overrides, projects, resource types and guard rails."""
